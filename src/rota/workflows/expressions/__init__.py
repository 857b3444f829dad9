"""The expression language of workflows: what stands between `${{` and `}}`.

    text ──tokens──► tokens ──parser──► syntax tree ──evaluator──► value

Nothing here reads a file, a clock or the environment: contexts and functions come from whoever evaluates.
"""
