import { expect, test } from "vitest";
import type { JsonSchema } from "../std/schema.ts";
import { openApi } from "./openapi.ts";
import { EVENT_KINDS } from "./replies/event.ts";
import type { Route } from "./route.ts";
import { ROUTES } from "./routes.ts";

const document = openApi(ROUTES) as { paths: Record<string, Record<string, JsonSchema>>; components: JsonSchema };

test("the document has every route, each with a name of its own, what it takes and what it answers", () => {
  for (const [name, route] of Object.entries(ROUTES) as [string, Route][]) {
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    expect(operation).toMatchObject({ operationId: name, summary: route.summary });
    expect(Object.hasOwn(operation ?? {}, "requestBody")).toBe(route.method === "POST");
    const names = ((operation?.["parameters"] ?? []) as { in: string; name: string }[]).filter(
      (each) => each.in === "path",
    );
    expect(names.map((each) => `{${each.name}}`)).toEqual(route.path.match(/\{\w+\}/g) ?? []);
    expect(operation?.["responses"]).toHaveProperty("default");
  }
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  expect(operations).toHaveLength(Object.keys(ROUTES).length);
});

test("no two routes have the same method and path", () => {
  const all = (Object.values(ROUTES) as Route[]).map(({ method, path }) => `${method} ${path}`);
  expect(new Set(all).size).toBe(all.length);
});

test("whatever it refers to is there, and it is plain JSON", () => {
  const text = JSON.stringify(document);
  expect(JSON.parse(text)).toEqual(document);
  for (const [, ref] of text.matchAll(/"\$ref":"#\/components\/(\w+\/\w+)"/g)) {
    const [kind = "", name = ""] = (ref ?? "").split("/");
    expect(document.components[kind]).toHaveProperty(name);
  }
});

test("what is looked at has shapes, each kind of event one of its own", () => {
  const schemas = document.components["schemas"] as Record<string, { readonly anyOf?: readonly object[] } & JsonSchema>;
  expect(schemas["Status"]).toHaveProperty("properties.waiting");
  expect(schemas["Why"]).toHaveProperty("properties.gates");
  expect(schemas["Event"]?.anyOf).toHaveLength(Object.keys(EVENT_KINDS).length);
});

test("one call in full", () => {
  expect(document.paths["/v1/claims"]).toMatchInlineSnapshot(`
    {
      "post": {
        "description": "Needs the scope \`work\`.",
        "operationId": "claim",
        "requestBody": {
          "content": {
            "application/json": {
              "schema": {
                "$ref": "#/components/schemas/ClaimRequest",
              },
            },
          },
          "required": true,
        },
        "responses": {
          "200": {
            "content": {
              "application/json": {
                "schema": {
                  "$ref": "#/components/schemas/Grant",
                },
              },
            },
            "description": "The task with its lease; nothing when there is none to be had.",
          },
          "204": {
            "description": "Nothing came within the wait.",
          },
          "default": {
            "$ref": "#/components/responses/Refusal",
          },
        },
        "summary": "Claim a task",
      },
    }
  `);
});

test("what is asked has no room for more, what is answered has", () => {
  const schemas = document.components["schemas"] as Record<string, JsonSchema>;
  expect(schemas["ClaimRequest"]).toMatchObject({ additionalProperties: false, required: ["session"] });
  expect(schemas["Session"]).not.toHaveProperty("additionalProperties");
  expect(schemas["Grant"]).toHaveProperty("properties.fence");
});
