"""The errors of seqd, as classes. Every one has `code`, `text` and `temporary`.

The codes are those of PROTOCOL.md section 4, and of this library: CONNECT, TIMEOUT, PROTOCOL, ARGUMENT, CLOSED, FORKED,
LIBRARY.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Optional, Tuple, Type, TypeVar

E = TypeVar("E", bound="SeqdError")


class SeqdError(Exception):
    """What every error of this package is.

    code: a word such as "UNAVAILABLE"; programs compare it, or catch the class.
    text: for people; do not parse it.
    temporary: the same call can succeed later with nothing changed.
    fault: 1 when the request is wrong, 0 when the daemon, its store or its configuration is, None for this library's own.
    """

    code: str = "UNKNOWN"
    temporary: bool = False
    fault: Optional[int] = None

    def __init__(self, text: str = "") -> None:
        super().__init__(f"{self.code}: {text}" if text else self.code)
        self.text = text

    def again(self: E) -> E:
        """The same error for another call: each has its own traceback."""
        other = type(self)(self.text)
        other.__dict__.update(self.__dict__)
        return other

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (self.text,), {key: value for key, value in self.__dict__.items() if key != "text"})


class DaemonError(SeqdError):
    """The daemon answered with an error."""


class ConnectError(SeqdError, ConnectionError):
    """No daemon answers at the socket. `temporary` is False where waiting does not help: no permission, no socket."""

    code = "CONNECT"
    temporary = True
    why = ""  # what the system says


class TimedOut(SeqdError, TimeoutError):
    """The daemon did not answer in time. An ID that it may have issued for this call is not issued again."""

    code = "TIMEOUT"
    temporary = True


class ProtocolError(SeqdError):
    """What answers at the socket does not speak the protocol of seqd."""

    code = "PROTOCOL"


class ArgumentError(SeqdError, ValueError):
    """An argument that no daemon would accept: a type, a range. Nothing was sent."""

    code = "ARGUMENT"


class ClosedError(SeqdError):
    """The client was closed."""

    code = "CLOSED"


class ForkedError(SeqdError):
    """This process was forked off inside of a call: the call is its parent's."""

    code = "FORKED"


class LibraryError(SeqdError):
    """Blocks need libseqd, which is missing or too old; the text says what to install."""

    code = "LIBRARY"


class BadRequest(DaemonError):
    """The request is malformed; the text says which part and what is allowed."""

    code, fault = "BAD_REQUEST", 1


class NoMethod(DaemonError):
    """There is no such method; the text lists the methods."""

    code, fault = "NO_METHOD", 1


class TooLarge(DaemonError):
    """A frame, name or count is above its limit; the text names the limit."""

    code, fault = "TOO_LARGE", 1


class NoSequence(DaemonError):
    """No sequence of that name is configured and creating one is not allowed."""

    code, fault = "NO_SEQUENCE", 1


class Denied(DaemonError):
    """This user may not do that."""

    code, fault = "DENIED", 1


class Busy(DaemonError):
    """A queue or table of the daemon is full; try again shortly."""

    code, fault, temporary = "BUSY", 0, True


class Unavailable(DaemonError):
    """The store cannot be reached and no ID is available; the text has the cause."""

    code, fault, temporary = "UNAVAILABLE", 0, True


class Stopping(DaemonError):
    """The daemon is stopping. Calls do not end with it: the client repeats them at the next daemon."""

    code, fault, temporary = "STOPPING", 0, True


class Exhausted(DaemonError):
    """The sequence has reached its maximum value."""

    code, fault = "EXHAUSTED", 0


class SeqType(DaemonError):
    """The counter in the store is not an integer; the text names document, field and type."""

    code, fault = "SEQ_TYPE", 0


class SeqMeaning(DaemonError):
    """The configuration does not say whether the store's number is the last or the next ID."""

    code, fault = "SEQ_MEANING", 0


class SeqRegressed(DaemonError):
    """The counter is lower than what was leased before, or was removed; or the database is an older copy."""

    code, fault = "SEQ_REGRESSED", 0


class SeqChanged(DaemonError):
    """The configuration binds the sequence to another counter than the one its available IDs were leased from."""

    code, fault = "SEQ_CHANGED", 0


class StoreRefused(DaemonError):
    """The store refused the operation: authentication, permissions or its own rules."""

    code, fault = "STORE_REFUSED", 0


class StateIO(DaemonError):
    """The state directory cannot be written; no ID is issued that is not recorded."""

    code, fault = "STATE_IO", 0


class StateCorrupt(DaemonError):
    """A file of the state directory cannot be understood."""

    code, fault = "STATE_CORRUPT", 0


class Fenced(DaemonError):
    """Another daemon owns this state now."""

    code, fault = "FENCED", 0


class ConfigError(DaemonError):
    """The configuration of the daemon is wrong; the text names what is allowed."""

    code, fault = "CONFIG", 0


class InternalError(DaemonError):
    """A defect of the daemon, or a code of a later version that is the daemon's fault."""

    code, fault = "INTERNAL", 0


class BadText(DaemonError):
    """The text is not an ID of that sequence; the error has the position and what is expected there."""

    code, fault = "BAD_TEXT", 1


class WrongMode(DaemonError):
    """The sequence does not have this method: it inserts documents and issues no IDs, or the other way round."""

    code, fault = "WRONG_MODE", 1


class DocumentRefused(DaemonError):
    """The document cannot be stored: a field that BSON cannot hold, a unique index, a validator; the text names it."""

    code, fault = "DOCUMENT_REFUSED", 1


class OutcomeUnknown(DaemonError):
    """It is not known whether the document was inserted, or the number cancelled; look for it before it is done again."""

    code, fault = "OUTCOME_UNKNOWN", 0


class NoKey(DaemonError):
    """The key has no number in the register."""

    code, fault = "NO_KEY", 1


class KeyConfirmed(DaemonError):
    """The number is confirmed, so it cannot be cancelled any more."""

    code, fault = "KEY_CONFIRMED", 1


class PeriodClosed(DaemonError):
    """The period of the register is closed, and gets no more numbers."""

    code, fault = "SEQ_PERIOD_CLOSED", 1


BY_CODE: Dict[str, Type[DaemonError]] = {one.code: one for one in DaemonError.__subclasses__()}
# A known code as a whole word, followed by a colon: the first one from the left counts.
_CODE = re.compile(r"(?<!\w)(" + "|".join(sorted(BY_CODE)) + r"): ?")


def of_reply(error: Any) -> DaemonError:
    """The exception for the `error` of a reply, which is not nil. Raises ProtocolError when it is none of the protocol."""
    if type(error) is not list or len(error) != 2 or error[0] not in (0, 1) or type(error[1]) is not str:
        raise ProtocolError("the daemon's error is not [0 or 1, text]; is the process at this socket seqd?")
    fault, text = error
    found = _CODE.search(text)
    if found:
        return BY_CODE[found.group(1)](text[found.end():])
    return BadRequest(text) if fault == 1 else InternalError(text)
