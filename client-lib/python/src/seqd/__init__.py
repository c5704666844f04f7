"""Client of seqd: short, unique, increasing numbers from the daemon of this host.

    import seqd
    with seqd.Client() as client:
        print(client.next("orders"))

seqd.aio has the same for asyncio, seqd.sqlalchemy and seqd.django have defaults for models.
"""

from ._records import Former, Record
from ._replies import Parsed, Peeked, Run, Status
from .client import Client, Pipeline, default_client
from .errors import (ArgumentError, BadRequest, BadText, Busy, ClosedError, ConfigError, ConnectError, DaemonError, Denied,
                     DocumentRefused, Exhausted, Fenced, ForkedError, InternalError, KeyConfirmed, LibraryError, NoKey, NoMethod,
                     NoSequence, OutcomeUnknown, PeriodClosed, ProtocolError, SeqChanged, SeqdError, SeqMeaning, SeqRegressed, SeqType,
                     StateCorrupt, StateIO, Stopping, StoreRefused, TimedOut, TooLarge, Unavailable, WrongMode)

__version__ = "0.2.0"

__all__ = [
    "ArgumentError", "BadRequest", "BadText", "Busy", "Client", "ClosedError", "ConfigError", "ConnectError", "DaemonError",
    "Denied", "DocumentRefused", "Exhausted", "Fenced", "ForkedError", "Former", "InternalError", "KeyConfirmed", "LibraryError",
    "NoKey", "NoMethod", "NoSequence", "OutcomeUnknown", "Parsed", "Peeked", "PeriodClosed", "Pipeline", "ProtocolError", "Record",
    "Run", "SeqChanged", "SeqMeaning", "SeqRegressed", "SeqType", "SeqdError", "StateCorrupt", "StateIO", "Status", "Stopping",
    "StoreRefused", "TimedOut", "TooLarge", "Unavailable", "WrongMode", "__version__", "default_client",
]
