"""Where the elements of a compiled model stand in its MJCF file and in those that it includes."""

import pathlib
import xml.parsers.expat

# Kinds of elements by tag, in worldbody, and by section.
TAGS = {"body": "body", "joint": "joint", "freejoint": "joint", "geom": "geom", "site": "site"}
SECTIONS = {"tendon": "tendon", "equality": "equality", "actuator": "actuator", "contact": "contact"}
# Kinds of elements as mujoco.MjSpec lists them.
LISTS = {"body": "bodies", "joint": "joints", "geom": "geoms", "site": "sites", "tendon": "tendons",
         "equality": "equalities", "actuator": "actuators"}


class Places:
    """Places of elements, by kind and number of the compiled model."""

    def __init__(self, path, spec):
        self.source = path.name
        self.named, self.tags, self.attributes = {}, {}, {}
        self.bodies, self.parts = [], {}  # (place, tag) of each body and, by kind and number of the body, of its parts
        self.read(path, path.parent, [], 0)
        self.spec = spec

    def read(self, path, folder, parents, body):
        """Notes the elements of a file, whose root's children are spliced in below `parents`, in a body."""
        stack, within, parser = [], [body], xml.parsers.expat.ParserCreate()

        def start(tag, attributes):
            place = f"{path.name}:{parser.CurrentLineNumber}"
            above = parents + stack
            if tag == "include" and "file" in attributes:
                file = path.parent / attributes["file"]
                self.read(file if file.exists() else folder / attributes["file"], folder, above, within[-1])
            within.append(self.note(tag, attributes, place, above, within[-1]))
            stack.append(tag if stack or not parents else "")

        parser.StartElementHandler = start
        parser.EndElementHandler = lambda tag: (stack.pop(), within.pop())
        parser.Parse(path.read_bytes(), True)

    def note(self, tag, attributes, place, above, body):
        """Notes an element in a body, and returns the number of the body in which its children are."""
        sections = [s for s in above if s in SECTIONS]
        if "default" in above:
            return body
        self.tags.setdefault(tag, place)
        for name in attributes:
            self.attributes.setdefault((tag, name), place)
        kind = SECTIONS[sections[0]] if sections and above[-1] == sections[0] else TAGS.get(tag) if not sections else None
        if kind and "name" in attributes:
            self.named[kind, attributes["name"]] = place, tag
        if kind == "body":
            self.bodies.append((place, tag))
            return len(self.bodies)
        if kind and not sections:
            self.parts.setdefault((kind, body), []).append((place, tag))
        return body

    def counted(self, kind, item):
        """The place and tag of an element without name and line, of an included file, by its number among those of its body;
        None where elements are not those of the files, such as copies by <replicate>."""
        if len(self.bodies) != len(self.spec.bodies) - 1 or kind not in TAGS.values():
            return None
        if kind == "body":
            return self.bodies[item.id - 1] if item.id > 0 else None
        siblings = [other.id for other in getattr(self.spec, LISTS[kind]) if other.parent.id == item.parent.id]
        found = self.parts.get((kind, item.parent.id), [])
        return found[sorted(siblings).index(item.id)] if len(found) == len(siblings) else None

    def of(self, kind, number):
        """The place of an element, or the file where its line is not known, and its tag."""
        for item in getattr(self.spec, LISTS[kind]):
            if item.id == number:
                if (kind, item.name) in self.named:
                    return self.named[kind, item.name]
                words = item.info.split()
                if len(words) == 2 and words[0] == "line" and words[1] != "0":
                    return f"{self.source}:{words[1]}", kind
                if place := self.counted(kind, item):
                    return place
        return self.source, kind

    def attribute(self, tag, name):
        """The place of the first element of a tag that has an attribute, else of the first of that tag, else the file."""
        return self.attributes.get((tag, name)) or self.tags.get(tag) or self.source


def parse(path):
    """Refuses a file that is missing or no XML. MuJoCo's own errors do not name the file."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    try:
        xml.parsers.expat.ParserCreate().Parse(path.read_bytes(), True)
    except xml.parsers.expat.ExpatError as err:
        raise ValueError(f"{path}:{err.lineno}: no XML: {err}") from err
    return path
