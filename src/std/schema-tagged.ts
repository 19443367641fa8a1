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
  const shapes = new Map(names.map((each) => [each, object({ [tag]: oneOf([each]), ...kinds[each] })]));
  return new Schema<Tagged<Tag, K>>(
    {
      read: (value, problems) => {
        if (!isMap(value)) return mismatch(value, "a map", problems);
        const shape = shapes.get(value[tag] as string);
        if (shape !== undefined) return shape.read(value, problems) as Tagged<Tag, K> | undefined;
        problems.enter(tag);
        name.read(value[tag], problems);
        problems.leave();
        return undefined;
      },
      json: { anyOf: [...shapes.values()].map(({ json }) => json) },
      expects: "a map",
      types: ["map"],
    },
    "required",
  );
}
