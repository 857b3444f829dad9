"""The databases themselves: connections, tables, migrations, leases, and what their errors mean."""
