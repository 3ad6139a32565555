"""Names in sources that CMake unites (CAROM_UNITY), which see the headers and the unnamed namespaces of each other.

Each name of an unnamed namespace must differ from those of the other sources of its target, and from those that headers
declare: the compiler reports two definitions, but neither an overload nor a name of a header that becomes hidden. And no
two headers may declare functions of one name whose first parameters are both texts, or both numbers: a source that was
written for one of them would call the other.

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
FUNCTION = re.compile(
    r"^(?!using|return|static_assert|friend|#|\}|class|struct|enum)[A-Za-z_\[][^\n(={;]*?[\s*&]([A-Za-z_]\w*)"
    r"\((?:const )?([\w:]+(?: \*|\*)?)", re.M)
KINDS = {"text": {"std::string", "std::string_view", "char*", "std::filesystem::path", "fs::path"},
         "number": {"double", "int", "long", "bool", "std::size_t", "std::int64_t"}}


def without_comments(text):
    return re.sub(r"//.*", "", text)


def names(text):
    text = without_comments(text)
    found = {m.group(1) for m in DEFINITION.finditer(text)}
    for m in VARIABLES.finditer(text):
        found |= set(re.findall(r"\b([A-Za-z_]\w*) =", m.group(0)))
    return found


def main(root):
    declared, functions = collections.defaultdict(set), collections.defaultdict(set)
    for folder in PROGRAM:
        for file in sorted((root / folder).rglob("*.hpp")):
            path = file.relative_to(root).as_posix()
            text = file.read_text()
            for name in names(text):
                declared[name].add(path)
            for block in re.findall(r"^namespace carom \{\n(.*?)^\}  // namespace carom\n", text, re.S | re.M):
                for name, parameter in FUNCTION.findall(without_comments(block)):
                    for kind, types in KINDS.items():
                        if parameter in types:
                            functions[name, kind].add(path)
    wrong = 0
    for (name, kind), files in sorted(functions.items()):
        if len(files) > 1:
            print(f"{name}, of a {kind}: " + ", ".join(sorted(files)))
            wrong += 1
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
    print(f"{wrong} names have several declarations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
