/** Reads server-sent events from text that comes in any pieces. */
export interface Message {
  readonly data: string;
  readonly id?: string;
}

/** The largest part of a message that is kept while its end has not come. */
const MESSAGE_MAX = 16 * 1024 * 1024;

/** Gives a function to feed with text; it calls `take` for each whole message. Only what our servers send is understood. */
export function eventReader(take: (message: Message) => void): (text: string) => void {
  let rest = "";
  let data: string | undefined;
  let id: string | undefined;
  const line = (text: string): void => {
    if (text.startsWith("data: ")) data = data === undefined ? text.slice(6) : `${data}\n${text.slice(6)}`;
    else if (text.startsWith("id: ")) id = text.slice(4);
    if (text !== "") return;
    if (data !== undefined) take(id === undefined ? { data } : { data, id });
    [data, id] = [undefined, undefined];
  };
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MESSAGE_MAX) throw new RangeError("a message of the stream is too large");
    for (const each of lines) line(each);
  };
}
