/** How much of anything one peer may ask for. Each is met before memory is spent on it. */
export interface Limits {
  /** Connections over the socket, and over TCP: each has its own, so that strangers cannot crowd out the sessions. */
  readonly socketConnections: number;
  readonly tcpConnections: number;
  /** How long the headers of a request may take, and the whole of it, in milliseconds. Answers may take longer. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long a connection may lie idle between two requests. */
  readonly idleMs: number;
  /** How often the time limits are looked at. */
  readonly checkMs: number;
  /** The most a follower may be behind, in bytes not yet sent, before it is let go. */
  readonly followBytes: number;
  /** How often a stream without news says that it lives. */
  readonly keepAliveMs: number;
  /** How long what is underway has to finish when the server closes. */
  readonly closeMs: number;
}

export const LIMITS: Limits = {
  socketConnections: 8_192,
  tcpConnections: 1_024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 75_000,
  checkMs: 1_000,
  followBytes: 1024 * 1024,
  keepAliveMs: 15_000,
  closeMs: 5_000,
};

/** The most of a body that is read: a plan may be large, anything else is small. */
export const SUBMIT_BYTES = 64 * 1024 * 1024;
export const BODY_BYTES = 1024 * 1024;
/** How long, and how much of, a body that was refused is still taken and thrown away, so that the refusal is heard. */
export const LINGER_MS = 1_000;
export const LINGER_BYTES = 64 * 1024 * 1024;
