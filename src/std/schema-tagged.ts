/** Schemas of objects of several kinds, told apart by one field that holds the name of the kind. */
import { isMap, mismatch, oneOf, Schema } from "./schema.ts";
import { type Fields, object, type Read } from "./schema-maps.ts";

type Kinds = Readonly<Record<string, Fields>>;
/** What an object of one of these kinds reads as: a union that a `switch` on the tag takes apart. */
export type Tagged<Tag extends string, K extends Kinds> = {
  [Name in keyof K & string]: { readonly [T in Tag]: Name } & Read<K[Name]>;
}[keyof K & string];

/** An object that has the fields of its kind, and no others. */
export function tagged<const Tag extends string, const K extends Kinds>(tag: Tag, kinds: K): Schema<Tagged<Tag, K>> {
  const names = Object.keys(kinds) as [string, ...string[]];
  const name = oneOf(names);
  const shapes = new Map<string, Schema<object>>();
  const shapeOf = (kind: string): Schema<object> => {
    const shape = shapes.get(kind) ?? object({ [tag]: oneOf([kind]), ...kinds[kind] });
    shapes.set(kind, shape);
    return shape;
  };
  return new Schema<Tagged<Tag, K>>(
    {
      read: (value, problems) => {
        if (!isMap(value)) return mismatch(value, "a map", problems);
        const kind = value[tag];
        if (typeof kind === "string" && Object.hasOwn(kinds, kind))
          return shapeOf(kind).read(value, problems) as Tagged<Tag, K> | undefined;
        problems.enter(tag);
        name.read(kind, problems);
        problems.leave();
        return undefined;
      },
      json: () => ({ anyOf: names.map((kind) => shapeOf(kind).json) }),
      expects: "a map",
      types: ["map"],
    },
    "required",
  );
}
