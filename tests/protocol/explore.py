"""Explore: every order in which actors can take their steps, with at most one fault."""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from tests.protocol.facts import ancestors
from tests.protocol.invariants import violation
from tests.protocol.model import Flying, Retired, World
from tests.protocol.outcomes import Refused, Unknown
from tests.protocol.programs import ACTS, Promise, start
from tests.protocol.rules import Rules
from tests.protocol.steps import NO_REPLY, NOT_FLUSHED, Actor, Flow, Step

Program: TypeAlias = tuple[str, ...]


@dataclass(slots=True, eq=False)
class Point:
    """How far an operation is: what it saw so far decides what it does next."""

    actor: Actor
    name: str
    seen: tuple[Any, ...]
    step: Step | None = None
    outcome: str = ""
    promises: list[Promise] = field(default_factory=list)
    later: dict[Any, "Point"] = field(default_factory=dict)
    flow: Flow[list[Promise]] | None = None

    def after(self, found: object) -> "Point":
        """Return the point after the step gave something."""
        known = self.later.get(found)
        if known is None:
            known = Point(self.actor, self.name, (*self.seen, found))
            flow, self.flow = self.flow, None
            known.run(flow, [found] if flow else known.seen)
            self.later[found] = known
        return known

    def run(self, flow: Flow[list[Promise]] | None, seen: Sequence[object]) -> None:
        """Let the operation, begun anew unless it is under way, see something."""
        try:
            if flow is None:
                flow = ACTS[self.name](self.actor)
                step = next(flow)
            for each in seen:
                step = flow.send(each)
        except StopIteration as ended:
            self.outcome, self.promises = "done", ended.value
        except Refused:
            self.outcome = "refused"
        except Unknown:
            self.outcome = "unknown"
        else:
            self.step, self.flow = step, flow


class State(NamedTuple):
    """The world, the points at which the actors are, and how many faults may still come."""

    world: World
    points: tuple[Point | None, ...]
    faults: int


@dataclass(frozen=True, slots=True)
class Explored:
    """What an exploration came to: the steps to a violation, if there is one."""

    programs: tuple[Program, ...]
    states: int
    violation: str | None = None
    steps: tuple[str, ...] = ()
    complete: bool = True

    def __str__(self) -> str:
        told = [" | ".join(" then ".join(each) for each in self.programs)]
        told += [f"  {number}. {step}" for number, step in enumerate(self.steps, 1)]
        told.append(f"  {self.violation or 'nothing is wrong'} ({self.states} states)")
        return "\n".join(told)


@dataclass(slots=True)
class System:
    """Some actors with a program each, and the rules that they follow."""

    programs: tuple[Program, ...]
    rules: Rules
    _first: dict[tuple[int, int], Point] = field(default_factory=dict)

    def begin(self, world: World, faults: int) -> State:
        """Return the state before anybody did anything."""
        points = tuple(self._operation(at, 0) for at in range(len(self.programs)))
        return State(world, points, faults)

    def following(self, state: State) -> Iterator[tuple[str, State]]:
        """Yield every state that one step or fault leads to, with what happened."""
        world = state.world
        flying = world.flying
        if flying is not None:
            yield "the late request lands", state._replace(world=_landed(world, flying))
        for at, point in enumerate(state.points):
            if point is None:
                continue
            assert point.step is not None
            who = f"{'ABC'[at]}: {point.name}"
            after, found = point.step.act(world)
            if after.manifest is not world.manifest:
                after = after._replace(flying=None)  # its place is taken
            yield f"{who} {point.step.name}", self._moved(state, at, after, found)
            if state.faults:
                yield f"{who} dies before it {point.step.name}", self._dead(state, at)
                for told, other, answer in _faults(point, world, after, found):
                    moved = self._moved(state._replace(faults=0), at, other, answer)
                    yield f"{who} {point.step.name}, {told}", moved

    def _operation(self, at: int, number: int) -> Point:
        found = self._first.get((at, number))
        if found is None:
            actor = Actor(f"{'abc'[at]}{number}", self.rules)
            found = Point(actor, self.programs[at][number], ())
            found.run(None, ())
            self._first[at, number] = found
        return found

    def _moved(self, state: State, at: int, world: World, found: object) -> State:
        """Return the state after an actor made a step; the end of an operation is told to it."""
        point = state.points[at]
        assert point is not None
        later: Point | None = point.after(found)
        assert later is not None
        if later.step is None:
            world = _told(world, later)
            number = int(later.actor.name[1:]) + 1
            later = self._operation(at, number) if number < len(self.programs[at]) else None
        return State(world, _set(state.points, at, later), state.faults)

    def _dead(self, state: State, at: int) -> State:
        return State(state.world, _set(state.points, at, None), 0)


def _set(
    points: tuple[Point | None, ...], at: int, point: Point | None
) -> tuple[Point | None, ...]:
    return (*points[:at], point, *points[at + 1 :])


def _faults(
    point: Point, before: World, after: World, found: object
) -> Iterator[tuple[str, World, str]]:
    """Yield what else a step may come to: no reply, done or not, or done and not flushed."""
    step = point.step
    assert step is not None
    if step.kind == "read" or after is before:
        return
    yield "which fails", before, NO_REPLY
    yield "the reply is lost", after, NO_REPLY
    if step.kind == "flip":
        yield "which is not flushed", after, NOT_FLUSHED
        late = Flying(after.manifest, point.actor.name)
        yield "which comes late", before._replace(flying=late), NO_REPLY


def _landed(world: World, flying: Flying) -> World:
    """Return the world after a late request; who was told that nothing happened was lied to.

    A version of the manifest is as old as its file, which is written when the request lands.
    """
    told = ("nothing", flying.owner) in world.promises
    broken = f"{flying.owner} was told that nothing happened, and then it did" if told else None
    landed = flying.manifest.dated(world.now)
    gone = world.manifest.heads().keys() - landed.heads().keys()
    kept = frozenset(p for p in world.promises if not (p[0] == "on" and p[1] in gone))
    broken = world.broken or broken
    return world._replace(manifest=landed, promises=kept, flying=None, broken=broken)


def _is_void(promise: Promise, world: World) -> bool:
    """Tell whether a branch was deleted with a commit on it before the commit was acknowledged."""
    if promise[0] != "on":
        return False
    _, name, commit = promise
    notes = world.manifest.rows_of(Retired)
    return any(
        each.name == name and commit in ancestors(each.commit, world.manifest) for each in notes
    )


def _told(world: World, point: Point) -> World:
    """Return the world after an operation ended."""
    own = point.actor.name
    broken = world.broken
    promises = world.promises
    if point.outcome == "done":
        promises = promises | {each for each in point.promises if not _is_void(each, world)}
    elif point.outcome == "refused":
        if own in world.effects:
            broken = broken or f"{point.name} ended with a definite error, and was done"
        if world.flying is not None and world.flying.owner == own:
            promises = promises | {("nothing", own)}
    return world._replace(promises=promises, effects=world.effects - {own}, broken=broken)


def explore(
    programs: Sequence[Program],
    rules: Rules,
    *,
    world: World | None = None,
    faults: int = 1,
    most: int | None = None,
    shuffled: random.Random | None = None,
) -> Explored:
    """Visit the states that actors can bring about, and stop at the first that is wrong.

    The shortest way to it is found. With `shuffled` they are visited depth first and in a random
    order instead, which is for explorations that are cut after `most` states.
    """
    system = System(tuple(programs), rules)
    first = system.begin(start() if world is None else world, faults)
    came: dict[State, tuple[State, str] | None] = {first: None}
    rest = deque([first])
    checked: set[World] = {first.world}
    while rest:
        state = rest.popleft() if shuffled is None else rest.pop()
        following = list(system.following(state))
        if shuffled is not None:
            shuffled.shuffle(following)
        for what, later in following:
            if later in came:
                continue
            came[later] = state, what
            if later.world not in checked:
                checked.add(later.world)
                wrong = violation(later.world)
                if wrong is not None:
                    return Explored(system.programs, len(came), wrong, _way(came, later))
            rest.append(later)
        if most is not None and len(came) > most:
            return Explored(system.programs, len(came), complete=False)
    return Explored(system.programs, len(came))


def _way(came: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    steps: list[str] = []
    while (before := came[state]) is not None:
        state, what = before
        steps.append(what)
    return tuple(reversed(steps))
