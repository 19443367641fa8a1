/** What a tool call is about, in a few words: programs name the arguments of their tools differently. */
import { type Json, text } from "./json.ts";

const FILES = ["file_path", "absolute_path", "notebook_path", "path", "file"];
const ARGUMENTS = ["command", "cmd", "pattern", "query", "url", "prompt", "description", "note"];
const ARGUMENT_MAX = 200;

export function about(input: Json | undefined): { readonly argument?: string; readonly file?: string } {
  const file = first(input, FILES);
  const argument = first(input, ARGUMENTS);
  return { ...(argument !== undefined && { argument: shorter(argument) }), ...(file !== undefined && { file }) };
}

export const shorter = (words: string): string =>
  words.length > ARGUMENT_MAX ? `${words.slice(0, ARGUMENT_MAX - 1).toWellFormed()}…` : words;

function first(input: Json | undefined, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = text(input, name);
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}
