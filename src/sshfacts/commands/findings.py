"""What can be wrong in a site's files: a closed registry of codes, and the collector of one run.

A finding says where, what, why and how to mend it. The *why* belongs to the code and stands here, or
in `sshfacts.schemas.problems.PROBLEMS` for what the contract, check and selection linters find.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType

from sshfacts.errors import Finding
from sshfacts.schemas.problems import PROBLEMS, Problem

_OWN: Mapping[str, str] = {
    # any file
    "source.missing": "Something refers to this file, or no site is complete without it.",
    "source.unreadable": "A file that cannot be read cannot be vetted.",
    "source.outside": "What is vetted is what stands in the site's folder; a link out of it can change unseen.",
    "source.size": "Every file that is read has a bound, so that a broken one cannot exhaust the service.",
    "source.encoding": "Files are UTF-8 without a byte order mark, so that everybody reads the same text.",
    "source.hidden_character": "A character that editors do not show can make a reviewer approve another text than the one that runs.",
    # YAML
    "yaml.syntax": "The file is not well-formed YAML 1.2.",
    "yaml.documents": "One file is one operation; a second document would be ignored without a word.",
    "yaml.directive": "A directive can change how the rest of the file is read.",
    "yaml.anchor": "Anchors and aliases hide what a line means, and can make a small file huge.",
    "yaml.tag": "A tag can change the type of a value, or name code to run.",
    "yaml.merge": "Merge keys are not YAML 1.2, and hide which keys an object has.",
    "yaml.duplicate_key": "Of two equal keys a reader takes one and drops the other; which one depends on the reader.",
    "yaml.key": "Keys are plain names.",
    "yaml.ambiguous": "YAML 1.1 and YAML 1.2 read this word differently, so the author and the service might disagree.",
    "yaml.empty": "An empty value is null in one reader's eyes and a slip in the author's.",
    "yaml.depth": "No field is nested so deeply.",
    # JSON, TOML
    "json.syntax": "A contract file is strict JSON, so that every tool reads the same contract.",
    "json.duplicate_name": "Of two equal names a reader takes one and drops the other; which one depends on the reader.",
    "toml.syntax": "The file is not well-formed TOML 1.0.",
    "toml.date": "No setting is a date or a time.",
    # fields of any file
    "field.unknown": "An unknown key is a typing error, or a rule that the author believes in and the service never sees.",
    "field.missing": "The field has no safe default.",
    "field.type": "Values are never converted from one type to another.",
    "field.choice": "Only the listed words have a meaning.",
    "field.pattern": "Names and texts have a fixed form, so that they can be compared, logged and shown safely.",
    "field.range": "Every number has bounds.",
    "field.length": "Every text and list has bounds.",
    "field.repeated": "The same entry twice is a slip, and the second one may have been meant to be another.",
    # the site
    "site.stray_file": "A file that is not read as an operation looks as if it were vetted and served.",
    "site.name_clash": "A site may add operations and may not replace a built-in one in silence.",
    "site.unknown_builtin": "The list names what is served beside the site's own operations.",
    "name.pattern": "The file's name is the operation's name, which agents call and auditors query.",
    # an operation
    "status.use_instead": "Whoever calls a deprecated operation must learn which one to call.",
    "arguments.unused": "An argument that no word of `run.argv` uses promises the agent something that does not happen.",
    "arguments.good_example": "An example that the schema refuses shows that the schema is not what the author meant.",
    "arguments.bad_example": "An example that the schema accepts shows that the schema is not what the author meant.",
    "arguments.hostile": "The engine tries hostile values on every argument of its own accord.",
    "arguments.charset": "Only A-Z a-z 0-9 _ . / : @ % + = , - are passed through every login shell unchanged, fish and tcsh included.",
    "arguments.dash": "A value that starts with a dash is an option to the tool, not a value.",
    "argv.program": "The first word is the program; it is a literal name or path.",
    "argv.shell": "A shell or a program that runs another one would give words a second meaning; sudo has its own field.",
    "argv.glued": "A value glued to other text can change what the tool makes of the whole word.",
    "argv.undeclared": "A placeholder stands for an argument of this file.",
    "argv.length": "The longest command this operation can render must stay within 8 KiB.",
    "env.reserved": "LC_ALL and PATH are the engine's: they make output the same everywhere and programs the expected ones.",
    "exit.no_document": "Without a status that means `document` the operation can never answer.",
    "exit.reserved": "`env`, `timeout` and the shell end with this status themselves, so it does not speak for the command.",
    "exit.sudo": "`sudo` ends with status 1 when it refuses, so it cannot also mean that something was not found.",
    "limits.ceiling": "An operation may lower the site's ceilings and never raise one.",
    "output.empty_document": "The document that empty output stands for must itself be one that the contract accepts.",
    "output.adapter": "An adapter that is not there cannot have been vetted.",
    "adapter.syntax": "Code that Python cannot read would fail on every call.",
    "adapter.signature": "The engine calls one function: `read`, with the bytes of stdout and nothing else.",
    "adapter.import": "An adapter takes text apart. What it needs for that is a short list; nothing else is there when it runs.",
    "adapter.builtin": "Files, consoles and code made at run time are closed to an adapter, so the call could only fail.",
    "checks.repeated": "The record names the check that failed; two of one name cannot be told apart.",
    "checks.unbound": "Without a binding or freshness check, an old answer or one about something else passes as an answer.",
    "facts.names": "Selection and facts contract are two views of one object and must name the same facts.",
    "retry.effect": "Running a change twice may change things twice.",
    "decision.redundant": "When every call asks, a condition for asking has no effect.",
    # cases
    "case.expect": "A case says exactly one thing: which facts come out, or which stage refuses and with which detail.",
    "case.detail": "The details of a refusal are a closed list, and each belongs to one stage.",
    "case.differs": "The case proves what the service does with this answer; now it does something else.",
    "case.near_miss": "What is one flaw away from a good answer is no answer; a contract that lets it through lets others through.",
    "case.none_accepted": "An operation that was never seen to answer may refuse everything.",
    "case.none_refused": "A contract that was never seen to refuse may accept everything.",
    "case.stray_output": "Captured output that no case judges proves nothing.",
    # sshfacts.toml
    "settings.unknown_name": "One part of the settings names something that another part must define.",
    "settings.via": "A way that leads back to a host it has passed never arrives.",
    "settings.database_url": "The record must be kept in one known database.",
    "settings.password": "Secrets stand in files of their own, never in a file that is reviewed, copied and committed.",
    "settings.host_keys": "Without a pinned key nobody knows who answers.",
    "settings.listen": "The doors listen on an address of this machine, and a name could stand for another one tomorrow.",
    "settings.allowed_hosts": "A web page can point its own name at any address, and then send requests there from its visitors' browsers.",
    "settings.allowed_origins": "An origin is compared to the letter with what a browser sends.",
    "settings.oidc": "A JWT names one caller, by claims whose meaning is written down here.",
    "settings.credential": "A credential is either a key file or an agent, and says which.",
}

REGISTRY: Mapping[str, str] = MappingProxyType({**_OWN, **PROBLEMS})
"""Every code a finding can have, and why it is one."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands. Line and column count from 1; line 0 means the file as a whole."""

    path: str
    line: int = 0
    column: int = 0


class Unreadable(Exception):
    """A value cannot be used at all; the findings already say why. Never leaves the room."""


class Findings:
    """Collects what one run finds."""

    def __init__(self) -> None:
        self._found: set[Finding] = set()

    def add(self, code: str, place: Place, what: str, fix: str) -> None:
        """Add one finding.

        Raises:
            KeyError: `code` is not in the registry; the set of findings is closed.
        """
        self._found.add(Finding(place.path, place.line, place.column, code, what, REGISTRY[code], fix))

    def stop(self, code: str, place: Place, what: str, fix: str) -> Unreadable:
        """Add one finding and return the exception to raise: the value cannot be used at all."""
        self.add(code, place, what, fix)
        return Unreadable(code)

    def add_problem(self, problem: Problem, place: Place) -> None:
        """Add what a linter of the room `schemas` found."""
        self.add(problem.code, place, problem.what, problem.fix)

    def __len__(self) -> int:
        return len(self._found)

    def sorted(self) -> tuple[Finding, ...]:
        """Return all findings by file, line and column."""
        return tuple(sorted(self._found))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` was most likely meant to be, or None when none is near."""
    matches = get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def suggestion(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return "did you mean ...?" when a known word is near, else `otherwise`."""
    near = nearest(word, known)
    return f"did you mean {near!r}?" if near is not None else otherwise
