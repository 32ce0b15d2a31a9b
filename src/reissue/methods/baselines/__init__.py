"""static and merge: one release at a time, for comparison.

They claim to stop no attack. Each class is checked by `model.requirement_check`, by formulas of its own; what
`partition` cuts by (`model.requirement_kernels`) is not used there, and `test_requirements` holds both against the
definitions.
"""
