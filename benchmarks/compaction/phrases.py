"""The words of generated sessions: what users demand once, what agents decide and give up, and how tools speak.

⟦ ⟧ mark what has to be there afterwards, word for word. Many phrasings on purpose, some without any of the words by
which a rule, a decision or a failure could be told, some in other languages.
"""

from __future__ import annotations

from typing import Final

CONSTRAINTS: Final = (
    "Please ⟦never touch the migrations folder⟧, the DBA owns it.",
    "⟦Keep Python {minor} compatibility⟧.",
    "⟦The public signature of {function} stays as it is⟧, three teams call it.",
    "By the way, ⟦commits are signed off as {person}⟧.",
    "⟦No new dependencies⟧ without asking me first.",
    "⟦Anything under vendor/{noun} is generated⟧, so hands off.",
    "⟦The response has to stay under {number} ms⟧ at p95.",
    "⟦Don't run the full test suite⟧, it takes forty minutes.",
    "We deploy on Fridays, so ⟦nothing gets merged before {ticket} is closed⟧.",
    "⟦Error messages must be in English⟧ even though the UI is German.",
    "I want ⟦tests next to the module, not in a separate tree⟧.",
    "⟦Use {noun} as the name of the feature flag⟧ everywhere.",
    "⟦Bitte keine Änderungen an {file}⟧, das macht Jana.",
    "⟦Log lines go through structlog⟧; print is a review blocker.",
    "⟦The staging database listens on port {number}⟧, production is off limits.",
    "⟦Ask before deleting anything in S3⟧.",
    "⟦Il ne faut pas toucher à {file}⟧, merci.",
    "⟦{person} has to review every change to auth⟧.",
    "Only squash merges, and ⟦branch names start with {noun}/⟧.",
    "⟦Amounts are integers in cents⟧, floats are a bug here.",
)

DECISIONS: Final = (
    "I'll use ⟦`{function}` instead of a cache table⟧, because it needs no invalidation.",
    "Decision: ⟦keep the {noun} index in memory⟧, since it never grows past {number} rows.",
    "⟦`{function}` now takes the lock before reading⟧; the other order would deadlock with the worker.",
    "We settled on ⟦batches of {number}⟧: larger ones time out in staging.",
    "⟦The {noun} check moves into the serializer⟧ so that both entry points share it.",
    "Going with ⟦a retry of {number} ms on {noun}⟧ rather than failing the request.",
    "⟦UTC everywhere, converted at the edge⟧: local time bit us in the {noun} report.",
    "Picked ⟦optimistic locking on {noun}⟧; the table is read far more often than written.",
    "The cleanest fix is to ⟦make {function} idempotent⟧, then the queue may deliver twice.",
    "⟦{noun} stays synchronous⟧. The async path saved 4 ms and cost us ordering.",
)

FAILURES: Final = (
    "⟦Caching the {noun} lookup in {function}⟧ did not work: stale entries survive a rename.",
    "Raising the pool size to {number} doesn't help, ⟦the {noun} connections leak in the signal handler⟧.",
    "That was a dead end: ⟦monkeypatching {function}⟧ breaks pickling in the worker.",
    "Reverting this. ⟦A composite index on {noun}⟧ made the writes {number} times slower.",
    "So ⟦moving {function} to a thread pool⟧ is out, sqlite refuses connections from another thread.",
    "The regex attempt fails on nested {noun}; ⟦parsing {noun} by hand⟧ is needed.",
)

REQUESTS: Final = (
    "The nightly {noun} job of {ticket} crashes since yesterday. Find out why and fix it. {rules}",
    "Next: {ticket}. Customers in region {number} see wrong {noun} totals. {rules} Start with {file}.",
    "Good. Now add a {noun} export to the admin, see {ticket}. {rules}",
    "Thanks! Then please speed up {function}, it takes {number} ms for build {hash}. {rules}",
    "One more thing, {ticket}: the {noun} webhook is delivered twice. {rules} The last good commit was {hash}.",
    "{rules} With that said, can you port the {noun} importer to the new client? The ticket is {ticket}.",
    "The build is red at {hash}. {rules} I suspect {file}, but I have not looked.",
)

CAUSES: Final = (
    "The root cause is that {function} drops rows with an empty {noun}.",
    "It turns out {function} is called before the {noun} table is loaded.",
    "So the {noun} cursor is shared between two workers, hence the missing rows.",
)

ERRORS: Final = (
    "KeyError: '{noun}_{number}'",
    'sqlalchemy.exc.IntegrityError: duplicate key value violates unique constraint "uq_{noun}_{number}"',
    "AssertionError: expected {number} {noun} rows, got {number2}",
    "TypeError: {function}() missing 1 required positional argument: '{noun}'",
    "ConnectionRefusedError: [Errno 111] could not reach {noun}-service:{number}",
    "ValueError: unsupported {noun} version {number}",
)

OTHER_CONSTRAINTS: Final = (
    "⟦{person} signs off on schema changes⟧, nobody else.",
    "One request: ⟦the {noun} endpoint answers with 204⟧ and an empty body.",
    "⟦It is fine to break {function}⟧, it has no callers, but ⟦{file} is frozen until May⟧.",
    "⟦Leave the {noun} fixtures alone⟧ please.",
    "⟦We are stuck on Postgres {minor}⟧ for this year.",
    "Mind that ⟦customers parse the {noun} CSV by column position⟧.",
    "⟦You may not call the {noun} API from tests⟧.",
    "⟦Timeouts: {number} ms and not a millisecond more⟧.",
    "⟦Every new setting gets an entry in {file}⟧.",
    "⟦Name the branch {noun}-{number}⟧.",
)

OTHER_DECISIONS: Final = (
    "⟦The {noun} column becomes nullable⟧; backfilling {number} rows would lock the table for an hour.",
    "After comparing both: ⟦polling every {number} ms beats the webhook⟧, which loses events.",
    "I prefer ⟦a separate {noun} module⟧ here as {function} is already too long.",
    "⟦{function} gets a keyword-only flag⟧. A second function would be copied sooner or later.",
    "Let's do ⟦the {noun} migration in two steps⟧, first the reads, then the writes.",
    "⟦No cache for {noun}⟧, the hit rate was 3 %.",
    "Since {function} is pure, ⟦the {noun} lock can go⟧.",
    "We agreed: ⟦{noun} ids are ULIDs from now on⟧.",
)

OTHER_FAILURES: Final = (
    "No luck: ⟦pinning {noun} to version {number}⟧ brings the old crash back.",
    "⟦Sorting in {function}⟧ turned out slower than the query it replaces, undone.",
    "I tried ⟦a partial index on {noun}⟧; the planner ignores it.",
    "⟦Mocking the {noun} clock⟧ hides the bug and proves nothing.",
    "Took ⟦the {noun} decorator⟧ out again, it swallows exceptions.",
    "Abandoned: ⟦streaming {noun} through {function}⟧ needs a second pass anyway.",
)

WORDINGS: Final = {
    "first": (CONSTRAINTS, DECISIONS, FAILURES),
    "other": (OTHER_CONSTRAINTS, OTHER_DECISIONS, OTHER_FAILURES),
}
"""Two sets of sentences. The rules of the built-in writer were bettered while looking at the first; the other was
written afterwards, and nothing was changed for it."""

NOUNS: Final = (
    "invoice ledger voucher tariff payout shipment parcel depot meter sensor waypoint tile glacier harbor beacon "
    "quota ticketing roster badge lease cohort funnel digest snapshot replica shard manifest artifact webhook token"
).split()

VERBS: Final = "load merge apply settle resolve rebuild dispatch collect validate hydrate reconcile encode".split()
PEOPLE: Final = ("Jana Okafor", "Miguel Ferreira", "Priya Raman", "Tomasz Nowak", "Aiko Tanaka")
AREAS: Final = "billing intake routing reports sync auth storage api workers".split()

SYSTEM: Final = """You are a coding agent in the repository {package}. You work in small steps and check each one.

Rules that always hold:
- Read a file before you edit it.
- Never print secrets; the vault is at {noun}-vault:{number}.
- Answer in the language of the user, short and factual.
- When a command runs longer than {number2} seconds, stop it and say so.
- The default branch is {noun}-main; nobody pushes to it directly."""

AGENTS: Final = """# AGENTS.md instructions for /srv/{package}

<INSTRUCTIONS>
## Layout
- `src/{package}` is the application, `tests` its tests, `ops` what runs it.
## Commands
- Tests of one area: `make test-area AREA={noun}`; lint: `make lint-{noun}`.
- Seed data: `make seed SEED={number}`.
## Style
- Line length {number2}, type hints everywhere, no wildcard imports.
- Money is never a float. Times are aware datetimes.
</INSTRUCTIONS>"""
