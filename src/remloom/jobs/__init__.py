"""Work for later: jobs that outlive a process, the workers that do them, and schedules.

A job calls one method of `Memory` (`tasks.KINDS`); doing it directly is calling that method.
"""

from .contract import Job, JobQueue, JobSpec, Queue
from .queue import StoredQueue
from .worker import Worker

__all__ = ["Job", "JobQueue", "JobSpec", "Queue", "StoredQueue", "Worker"]
