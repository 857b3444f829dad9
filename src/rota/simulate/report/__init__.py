"""Results of simulations as a page that opens in a browser: a table and pictures, one file, no network.

Called by `cli/` and by the benchmarks. `page.py` puts the sections together; `chart.py` draws.
"""

from rota.simulate.report.page import write_report as write_report
