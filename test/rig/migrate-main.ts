/** A process that brings a database to the schema of a folder of migrations. It is there to be killed. */
import { pathToFileURL } from "node:url";
import { migrate, migrationsIn } from "../../src/store/sqlite/migrate.ts";
import { REAL } from "../../src/store/sqlite/platform.ts";

const [file = "", folder = ""] = process.argv.slice(2);
using db = REAL.open(file, { readOnly: false });
migrate(db, file, migrationsIn(pathToFileURL(`${folder}/`)));
