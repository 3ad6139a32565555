#!/usr/bin/env python3
"""An independent validator, python3-jsonschema, against the program's JSON Schema; 77 (skipped) without it.

Usage: schema_validation.py ROOT [CAROM]

The schema is valid draft 2020-12; it accepts every model in data/models and every right model of wrong_models/; it
rejects every wrong model that is marked as structural there, and accepts those marked as semantic, which only the
program can reject. With CAROM the schema that the program prints is tested too.
"""

import json
import subprocess
import sys
from pathlib import Path

import wrong_models

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
except ImportError:
    print("python3-jsonschema not found")
    sys.exit(77)


def read_model(path):
    """A model file as a value."""
    case = wrong_models.Case(path.name, "valid", path.stem)
    case.lines = path.read_text().splitlines()
    return case.value()


def main():
    root = Path(sys.argv[1])
    text = (root / "data/schema/carom.schema.json").read_text()
    schema = json.loads(text)
    problems = []
    if len(sys.argv) > 2:
        printed = subprocess.run([sys.argv[2], "schema"], capture_output=True, text=True, check=True).stdout
        if json.loads(printed) != schema:
            problems.append("data/schema/carom.schema.json is not what the program prints: build the target reference")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        problems.append(f"the schema is no draft 2020-12: {error.message}")
    validator = Draft202012Validator(schema)

    def first_error(value):
        errors = sorted(validator.iter_errors(value), key=lambda e: list(map(str, e.path)))
        return f"/{'/'.join(map(str, errors[0].path))}: {errors[0].message[:200]}" if errors else ""

    models = sorted((root / "data/models").glob("*.json"))
    for path in models:
        error = first_error(read_model(path))
        if error:
            problems.append(f"{path.name} is rejected: {error}")
        if read_model(path).get("$schema") != "../schema/carom.schema.json":
            problems.append(f"{path.name} does not name its schema")
    counts = {"structural": 0, "semantic": 0, "valid": 0}
    for case in wrong_models.all_cases():
        if case.kind not in counts:
            continue
        counts[case.kind] += 1
        error = first_error(case.value())
        if case.kind == "structural" and not error:
            problems.append(f"{case.place}: {case.title}: accepted by the schema, but marked as structural")
        if case.kind != "structural" and error:
            problems.append(f"{case.place}: {case.title}: rejected by the schema, but marked as {case.kind}: {error}")
    for problem in problems:
        print(problem)
    print(f"{len(models)} models, " + ", ".join(f"{n} {kind}" for kind, n in counts.items()) + f"; {len(problems)} problems")
    return 1 if problems or not models else 0


if __name__ == "__main__":
    sys.exit(main())
