/**
 * The channel: many calls over one connection, a line of JSON each. It begins as a request to `CHANNEL_PATH` that is upgraded. A call
 * says what an HTTP request would, under a number of the caller's own; its answer has the same number and comes when it is ready, so
 * that one who waits keeps nobody else waiting. HTTP has a head to write and to read on both sides of every call, which takes several
 * times as long as the call itself.
 *
 * `{"id":1,"method":"POST","path":"/v1/claims","body":{…}}` is a call, with `by` where another than who opened the channel calls.
 * `{"id":1,"cancel":true}` gives up a call that waits; it is answered all the same.
 */

export const CHANNEL_PATH = "/v1/channel";
export const CHANNEL_PROTOCOL = "rota-lines";

/** The most a line may have, in bytes. What is larger goes by itself, as a request. */
export const LINE_MAX = 1024 * 1024;

/** Calls that may be underway on one channel, those that wait among them. What goes beyond goes by itself, as a request. */
export const CALLS_MAX = 1_024;

/** As over HTTP: 200 with what was answered, 204 with nothing, else `{ error }`. */
export interface AnswerLine {
  readonly id: number;
  readonly status: number;
  readonly body?: unknown;
}
