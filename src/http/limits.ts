/** How much one peer may ask for. Each limit is checked before memory is spent. */
export interface Limits {
  /** Connections over the socket, and over TCP: each has its own limit, so that strangers cannot crowd out the sessions. */
  readonly socketConnections: number;
  readonly tcpConnections: number;
  /** How long the headers of a request may take, and the whole of it, in milliseconds. Answers may take longer. */
  readonly headersMs: number;
  readonly requestMs: number;
  /** How long a connection may be idle between two requests. */
  readonly idleMs: number;
  /** How often the time limits are checked. */
  readonly checkMs: number;
  /** The most a follower may be behind, in bytes not yet sent, before its stream is ended. */
  readonly followBytes: number;
  /** How often a stream without news sends a sign of life. */
  readonly keepAliveMs: number;
  /** How long calls in progress may take to finish when the server closes. */
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

/** The largest body that is read: a plan may be large, all else is small. */
export const SUBMIT_BYTES = 64 * 1024 * 1024;
export const BODY_BYTES = 1024 * 1024;
/** For how long, and how many bytes of, a refused body are still read and thrown away, so that the peer gets the refusal. */
export const LINGER_MS = 1_000;
export const LINGER_BYTES = 64 * 1024 * 1024;
