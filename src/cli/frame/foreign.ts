/**
 * Words that people type because make, docker compose, git or another scheduler uses them, and the command that does it here. A search for
 * similar words finds words that are only misspelt.
 */
type Words = Readonly<Record<string, string>>;

/** One answer for several words. */
const all = (words: string, answer: string): Words =>
  Object.fromEntries(words.split(" ").map((word) => [word, answer]));

/** A command as a person types it, with a word in capitals for its argument. */
export const COMMAND_WORDS: Words = {
  ...all("version", "rota --version"),
  ...all("new create", "rota init"),
  ...all("validate lint test verify", "rota check PLAN"),
  ...all("plan graph estimate preview", "rota simulate PLAN"),
  ...all("up go build make exec execute apply", "rota run PLAN"),
  ...all("daemon server scheduler listen", "rota serve"),
  ...all("add push enqueue queue", "rota submit PLAN"),
  ...all("rerun again", "rota retry"),
  ...all("join register", "rota session join"),
  ...all("leave unregister", "rota session leave"),
  ...all("next take pull dequeue poll", "rota claim"),
  ...all("ping beat renew", "rota heartbeat TASK"),
  ...all("done finish ack", "rota complete TASK"),
  ...all("nack", "rota fail TASK"),
  ...all("tail follow", "rota logs TASK --follow"),
  ...all("ls list ps history runs", "rota status --all"),
  ...all("show info tasks", "rota status"),
  ...all("inspect describe explain", "rota why TASK"),
  ...all("watch top", "rota events --follow"),
  ...all("agents sessions nodes who", "rota workers"),
  ...all("gantt chart report", "rota timeline"),
  ...all("hold", "rota pause"),
  ...all("unpause unhold continue", "rota resume"),
  ...all("down stop kill abort", "rota cancel"),
  ...all("accept allow unblock", "rota approve TASK"),
  ...all("clean gc rm delete purge", "rota prune --older-than 30d"),
  ...all("fsck", "rota doctor"),
  ...all("settings", "rota config"),
  ...all("usage man", "rota help"),
};

/** An option by its name in other programs, and its name here. */
export const OPTION_WORDS: Words = {
  ...all("jobs parallel parallelism concurrency max-parallel", "workers"),
  ...all("directory dir data-dir home", "state"),
  ...all("continue", "resume"),
  ...all("lines", "tail"),
  ...all("watch", "follow"),
};
