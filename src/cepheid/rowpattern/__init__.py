"""Row patterns, the meaning of MATCH_RECOGNIZE: the model, what its expressions read, and the literal evaluator.

The chain: a front end makes a `RowPattern` from text; `binding` gives its names and types a meaning; `reference` runs
that literally; `instructions` is what the engine's matcher runs. Rules are those of the SQL semantics of the project.
"""
