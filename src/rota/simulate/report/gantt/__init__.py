"""Nodes over time: what ran where, what was announced, what was promised.

A small replay is drawn task by task. Of a large one there are two pictures: all nodes at the resolution of
the screen, and a closer look at some of them while most jobs waited.
"""

from rota.simulate.report.gantt.section import gantt_figures as gantt_figures
from rota.simulate.report.gantt.tenants import tenants_of as tenants_of
