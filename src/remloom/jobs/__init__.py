"""Work for later: jobs that outlive a process, the workers that do them, and schedules.

A job calls one method of `Memory` (`work.KINDS`); doing it directly is calling that method.
"""

from .contract import Job, JobQueue, Queue
from .queue import StoredQueue
from .worker import Worker

__all__ = ["Job", "JobQueue", "Queue", "StoredQueue", "Worker"]
