/**
 * The line connection: many calls over one connection, a line of JSON each. The reference of the API calls it a channel. It begins as a request
 * to `LINES_PATH` that is upgraded. A call says what an HTTP request would, under a number of the caller's own. Its answer has the same number
 * and comes when it is ready, so a call that waits does not hold up the others. HTTP has a head to write and to read on both sides of every
 * call, which takes several times as long as the call itself.
 *
 * `{"id":1,"method":"POST","path":"/v1/claims","body":{…}}` is a call, with `by` where another caller opened the line connection.
 * `{"id":1,"cancel":true}` gives up a call that waits; it is answered all the same.
 */

export const LINES_PATH = "/v1/channel";
export const LINES_PROTOCOL = "rota-lines";

/** The longest line, in bytes. A larger call goes as a request of its own. */
export const LINE_MAX = 1024 * 1024;

/** How many calls may be in progress on one line connection, waiting ones included. Further calls go as requests of their own. */
export const CALLS_MAX = 1_024;

/** As over HTTP: 200 with what was answered, 204 with nothing, else `{ error }`. */
export interface AnswerLine {
  readonly id: number;
  readonly status: number;
  readonly body?: unknown;
}
