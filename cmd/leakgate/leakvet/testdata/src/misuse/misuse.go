package misuse // want package:`\d values, 0 types`

var sessions []*int
