"""Names in unnamed namespaces of sources that CMake unites (CAROM_UNITY): each must differ from those of the other
sources of its target, and from those that headers declare. The compiler reports two definitions, but neither an overload
nor a name of a header that the unnamed namespace of another source hides.

usage: united_names.py ROOT
"""

import collections
import pathlib
import re
import sys

UNITED = ("io", "apps")
ALONE = ("io/schema/", "io/mesh/gmsh/")  # targets of their own
PROGRAM = ("core", "elements", "contact", "integrators", "io", "apps")

# what begins in the first column: functions, classes, variables
DEFINITION = re.compile(
    r"^(?!namespace|using|return|static_assert|extern|friend|#|\})(?:template<[^\n]*>\s*\n)?"
    r"[A-Za-z_][^\n(={;]*?[\s*&]([A-Za-z_]\w*)\s*(?:\(|=|;|\{|\[|:(?!:)|final|$)", re.M)
VARIABLES = re.compile(r"^(?:inline |static )*const(?:expr)? [^;({]*;", re.M)


def names(text):
    text = re.sub(r"//.*", "", text)
    found = {m.group(1) for m in DEFINITION.finditer(text)}
    for m in VARIABLES.finditer(text):
        found |= set(re.findall(r"\b([A-Za-z_]\w*) =", m.group(0)))
    return found


def main(root):
    declared = collections.defaultdict(set)
    for folder in PROGRAM:
        for file in sorted((root / folder).rglob("*.hpp")):
            for name in names(file.read_text()):
                declared[name].add(str(file.relative_to(root)))
    wrong = 0
    for folder in UNITED:
        places = collections.defaultdict(set)
        for file in sorted((root / folder).rglob("*.cpp")):
            path = file.relative_to(root).as_posix()
            if path.startswith(ALONE):
                continue
            for block in re.findall(r"^namespace \{\n(.*?)^\}  // namespace\n", file.read_text(), re.S | re.M):
                for name in names(block):
                    places[name].add(path)
        for name, files in sorted(places.items()):
            all_files = sorted(files | declared.get(name, set()))
            if len(all_files) > 1:
                print(f"{name}: " + ", ".join(all_files))
                wrong += 1
    print(f"{wrong} names of unnamed namespaces have several declarations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
