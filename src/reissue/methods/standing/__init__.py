"""Standing: one class for life (ours).

Everybody belongs to one class for life, formed without looking at who has which value, and a class tells its values
once, as tokens. The rows of a release carry boxes of their own, made from quasi-identifiers alone. So a later release
says nothing new about anybody's value: there is nothing to compare, chain, trace or learn.

How a release is kept: `Facts.classes` and `Facts.boxes` are the boxes that rows show, `Facts.values` the true values.
The class for life, the tokens of the classes that have somebody present, the token dealt to each person, who waits and
what was drawn for them, and the noise of the totals are private facts in its extras, read and written by
`reissue.model.standing_classes`. Rows stand in their own boxes, so all that measures or writes boxes works as for any
release; only who reads values must ask for the tokens. Two caches are folded from the facts, in segments
of those who entered in some releases: people's places (class, value, dealt token) and the tokens of classes. They are
read only for people who are back; all others have the place that the last release says.

- strategy:   the settings, and the order of the steps
- newcomers:  classes among those who have none yet; blending, waiting, dealing
- blind_cuts: Mondrian whose cuts values may accept or refuse, never choose
- sharing:    one box for fragments that are too small for one of their own
- places:     the two caches
- notes:      what the recipient of a release must know to read it
- leaving:    how many people present have each value, as far as classes tell who leaves sooner
- paces:      what that computes, in an order that makes it the same on every machine
- totals:     the same with noise, and what lies between both
- promise_check: the finished release against the promise; it shares no code with the others but the names of the facts
"""
