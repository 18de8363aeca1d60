"""Settings of every test run: no network, no telemetry, no time limits on slow machines."""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

# A busy machine must not fail a property: examples are counted, never timed.
settings.register_profile("clef", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clef")
