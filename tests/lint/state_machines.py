"""The diagram of a state machine, at the head of its header, has the moves of its table (daemon/base/state_machine.h).

A line of a diagram is a comment of three spaces or more and a chain "a -> b, c -> d": each state of a step goes to each
one of the next. Two spaces end the chain, and a remark follows. A table stands in the source beside the header. Where a
class has several, no two of them share the name of a state.
"""

import collections
import re

import tree as project

LINE = re.compile(r"^//\s{3,}(\S.*?)(?:\s{2,}.*)?$")
STATE = re.compile(r"^\w+$")
TABLE = re.compile(r"^constexpr StateTable<(?:\w+::)+(\w+)> (?:(\w+)::)?\w+ = \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
ROW = re.compile(r"\{\w+::(\w+),\s*\"(\w*)\",\s*\{([^{}]*)\}\}")

MACHINE = re.compile(r"\bStateMachine<[\w:]+> \w+[{;]")

Table = collections.namedtuple("Table", "owner moves states complaints")


def head_of(tree, name):
    """The comment that opens a file, with the numbers of its lines."""
    lines = []
    for number, line in enumerate(tree.lines(name), 1):
        if not line.startswith("//"):
            break
        lines.append((number, line))
    return lines


def diagram_of(tree, name):
    """The moves by the numbers of their lines, and complaints about lines that cannot be read."""
    moves, complaints = {}, []
    for number, line in head_of(tree, name):
        match = LINE.match(line)
        if not match or "->" not in match.group(1):
            continue
        steps = [step.split(", ") for step in match.group(1).split(" -> ")]
        if len(steps) < 2 or not all(STATE.match(state) for step in steps for state in step):
            complaints.append(f"{name}:{number}: a line of a diagram is \"a -> b, c -> d\", and a remark behind two spaces")
            continue
        for here, there in zip(steps, steps[1:]):
            moves.update({(a, b): number for a in here for b in there if (a, b) not in moves})
    return moves, complaints


def tables_of(tree, source, header_text):
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", tree.text(source), flags=re.DOTALL)
    for enum, owner, body in TABLE.findall(code):
        rows = ROW.findall(body)
        states = [state for state, _, _ in rows]
        complaints = [f"{source}: {owner}: the state {state} is called \"{name}\"" for state, name, _ in rows if state != name]
        declared = re.search(rf"enum class {enum}\b[^{{]*\{{([^}}]*)\}}", header_text)
        enumerators = re.findall(r"\w+", declared.group(1)) if declared else []
        if enumerators != states:
            complaints.append(f"{source}: {owner}: the rows of the table are not the states of {enum}, in their order")
        moves = {(state, there) for state, _, nexts in rows for there in re.findall(r"\w+::(\w+)", nexts)}
        yield Table(owner, moves, set(states), complaints)


def check_header(tree, header, source):
    """About one header; `source` stands beside it, or is None."""
    text = tree.text(header)
    drawn, complaints = diagram_of(tree, header)
    tables = list(tables_of(tree, source, text)) if source else []
    if len(MACHINE.findall(text)) != len(tables):
        complaints.append(f"{header}: each state machine has its table in the source beside it")
    in_code = set()
    for table in tables:
        complaints += table.complaints
        in_code |= table.moves
    if len(set().union(*(table.states for table in tables))) < sum(len(table.states) for table in tables):
        complaints.append(f"{source}: two of its tables share the name of a state")
    for a, b in sorted(set(drawn) - in_code):
        complaints.append(f"{header}:{drawn[a, b]}: the diagram has {a} -> {b}, and no table has")
    for a, b in sorted(in_code - set(drawn)):
        complaints.append(f"{header}: the table has {a} -> {b}, and the diagram has not")
    return complaints


def check(tree):
    names = set(tree.sources())
    complaints = []
    for header in sorted(name for name in names if name.endswith(".h") and not project.is_test(name)):
        source = header[:-2] + ".cc"
        complaints += check_header(tree, header, source if source in names else None)
    return complaints


if __name__ == "__main__":
    project.main(check, "state machines")
