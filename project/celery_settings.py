"""Celery's settings, each with its reason. Rows decide and messages hint: a hint that is lost, doubled or late
costs latency, never work; so everything here only has to be quick to fail and quick to come back.
"""

from django.conf import settings
from kombu.entity import Exchange, Queue

from project.beat import beat_schedule as scans
from project.kit import redis_urls

# --- broker ----------------------------------------------------------------------------------------------------

broker_connection_retry_on_startup = True
broker_connection_max_retries = None  # the default gives up after 100 tries; a worker outlives any outage
broker_pool_acquire_timeout = 5  # an exhausted pool blocks without limit otherwise
_broker = redis_urls.broker(
    settings.REDIS_URL,
    # A hung Redis (not a dead one) blocks a publisher for ever without these.
    socket_timeout=5,  # above the 1 s that kombu's BRPOP waits
    socket_connect_timeout=3,
    socket_keepalive=True,
    health_check_interval=10,  # finds half-open connections
    # Redelivery is a convenience: the row's token makes a second delivery a no-op.
    visibility_timeout=3600,
    unacked_restore_interval=5,
    unacked_restore_throttle=1,
    priority_steps=[0],  # priority is decided by the rows; one list a queue instead of four
    global_keyprefix="tideline:",
    client_name="tideline",
)
broker_url, broker_use_ssl, broker_transport_options = _broker.url, _broker.use_ssl, _broker.options
task_publish_retry = False  # the next scan publishes again; nobody waits for a broker that is away
task_publish_retry_policy = {"max_retries": 1, "interval_start": 0.1}

# --- tasks -----------------------------------------------------------------------------------------------------

task_serializer = "json"
accept_content = ["json"]  # no pickle, ids only as arguments
task_ignore_result = True  # state lives in rows
result_expires = None  # no results, so beat needs no row to clean them up
task_default_queue = "scans"
task_queues = [
    Queue(name, Exchange(name), routing_key=name)  # a long job never keeps a scan waiting
    for name in ("scans", "runs", "alerts", "polling.card", "polling.legacy", *settings.TIDELINE_POLLING_QUEUES)
]
task_create_missing_queues = False  # a misspelt queue is an error, not a queue that nobody reads
task_routes = {"scheduler.run": {"queue": "runs"}, "alerts.serve": {"queue": "alerts"}}
task_acks_late = True  # with multiplier 1 no hint lies reserved behind a long job
task_reject_on_worker_lost = False  # the row's lease brings the run back; a redelivered hint is only noise
worker_prefetch_multiplier = 1
# A run keeps its lease while Redis is away or emptied, so losing the broker must not cancel it. The redelivered
# hint finds its token used.
worker_cancel_long_running_tasks_on_connection_loss = False

# --- workers ---------------------------------------------------------------------------------------------------

worker_proc_alive_timeout = 60  # the default of 4 s kills children of a slow start for ever
worker_max_tasks_per_child = 5000
worker_eta_task_limit = 1000  # nothing here uses an eta; a seat belt
worker_hijack_root_logger = False
worker_send_task_events = False  # the runner turns them on (--task-events): Flower shows the runs, not the scans
task_send_sent_event = False
worker_consumer = "project.consumer:GatheringConsumer"  # one publication for the events of a tenth of a second
# Django's connection lives over many tasks (853 tasks/s against 256, 7 sessions against 600, measured) and is
# checked before each one (project/worker.py), so that a restart of PostgreSQL fails none.
CELERY_DB_REUSE_MAX = settings.CELERY_DB_REUSE_MAX

# --- beat ------------------------------------------------------------------------------------------------------

beat_scheduler = "project.metronome:SteadyScheduler"
beat_schedule = scans
beat_max_loop_interval = 1
timezone = "UTC"  # beat holds intervals only; local time is the scheduler's business
