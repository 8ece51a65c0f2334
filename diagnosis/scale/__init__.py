"""Work that is spread over other processes or machines, through any executor of ``concurrent.futures``."""

from diagnosis.scale.crew import Crew, WorkersError, process_pool
from diagnosis.scale.origin import NotImportableError, Origin, import_model, noted, origin_of, worker_model
from diagnosis.scale.packing import pack, unpack

__all__ = [
    "Crew",
    "NotImportableError",
    "Origin",
    "WorkersError",
    "import_model",
    "noted",
    "origin_of",
    "pack",
    "process_pool",
    "unpack",
    "worker_model",
]
