package main // want package:"values"

import "github.com/leakgate/leakgate/leakcheck" // want `leakcheck is for tests: move this to a _test.go file`

func main() { _ = leakcheck.Root("prog.x") } // want `there is no variable or function "x" in prog`
