/** The API as an OpenAPI 3.1 document, made from the table of routes and the schemas of what they take and answer. */
import type { JsonSchema } from "../std/schema.ts";
import { REFUSAL } from "./answers.ts";
import type { Route } from "./route.ts";
import { type AnySchema, isAnswer, NAMES, openShape } from "./shape-names.ts";

type Routes = Readonly<Record<string, Route>>;

export function openApi(routes: object): JsonSchema {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [name, route] of Object.entries(routes as Routes)) {
    paths[route.path] ??= {};
    Object.assign(paths[route.path] as object, { [route.method.toLowerCase()]: operation(name, route) });
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Rota",
      version: "1",
      description:
        "What a daemon (`rota serve`) answers, over the Unix socket in its state directory and, on request, over loopback TCP with a bearer token. Whatever is answered is durable.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "http://localhost", description: "Over the socket: `curl --unix-socket .rota/rota.sock`." }],
    // Over the socket no token is needed.
    security: [{}, { token: [] }],
    paths,
    components: {
      schemas: Object.fromEntries([...NAMES].map(([schema, name]) => [name, shapeOf(schema)])),
      responses: {
        Refusal: {
          description: "Refused, with a stable code and what to do about it.",
          content: json(shapeNamed(REFUSAL)),
        },
      },
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "Over TCP only." } },
    },
  };
}

const SCHEMAS = "#/components/schemas";

/** Answers may get more fields in later versions; requests may not. */
const shapeOf = (schema: AnySchema): JsonSchema => (isAnswer(schema) ? openShape(schema.json, SCHEMAS) : schema.json);

function shapeNamed(schema: AnySchema): JsonSchema {
  const name = NAMES.get(schema);
  return name === undefined ? schema.json : { $ref: `${SCHEMAS}/${name}` };
}

const json = (schema: JsonSchema): object => ({ "application/json": { schema } });

function operation(name: string, route: Route): object {
  const names = paramsOf(route.path);
  const fields = route.method === "GET" ? Object.entries(route.request.fields) : [];
  const parameters = [
    ...names.map((each) => ({ name: each, in: "path", required: true, schema: { type: "string", minLength: 1 } })),
    ...fields.map(([each, { json, presence }]) => ({
      name: each,
      in: "query",
      required: presence === "required",
      ...withoutDescription(json),
    })),
  ];
  return {
    operationId: name,
    summary: route.summary,
    description: `Needs the scope \`${route.scope}\`.`,
    ...(parameters.length > 0 && { parameters }),
    ...(route.method === "POST" && { requestBody: bodyOf(route) }),
    responses: responsesOf(route),
  };
}

/** The names in a path, in order. */
export const paramsOf = (path: string): readonly string[] =>
  path.split("/").flatMap((part) => (part.startsWith("{") ? [part.slice(1, -1)] : []));

function withoutDescription({ description, ...schema }: JsonSchema): object {
  return description === undefined ? { schema } : { description, schema };
}

function bodyOf({ request }: Route): object {
  return { required: request.json["required"] !== undefined, content: json(shapeNamed(request)) };
}

function responsesOf({ answer, answers, method, stream, orNothing }: Route): object {
  const shape = answer === undefined ? {} : shapeNamed(answer);
  const content = {
    ...(stream !== "wakes" && json(shape)),
    ...(stream !== undefined && { "text/event-stream": { schema: { type: "string" } } }),
  };
  return {
    ...(method === "DELETE" ? {} : { 200: { description: answers, content } }),
    ...(method === "DELETE" ? { 204: { description: answers } } : {}),
    ...(orNothing && { 204: { description: "Nothing came within the wait." } }),
    default: { $ref: "#/components/responses/Refusal" },
  };
}
