"""Jobs of tests run as whoever runs the tests, root or not, unless it is isolation that is tested."""

AS_OURSELVES = {"ROTA_WORKER_ALLOW_ROOT": "true", "ROTA_WORKER_ISOLATION": "none"}
