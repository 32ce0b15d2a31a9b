"""m-invariance (Xiao and Tao) and the association attack: the same m possible values for life."""
