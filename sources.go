// Package leakgate has the sources of package leakcheck, with all that it imports, for the command:
// leakgate run -auto builds them into the tests of modules that do not require leakgate. Tests
// import the package leakcheck instead of this one.
package leakgate

import "embed"

// Sources are the files of leakcheck and of the packages that it imports, tests and some packages
// that it does not need among them, by their place in the module.
//
//go:embed go.mod leakcheck/*.go leakcheck/internal/*/*.go leakcheck/internal/*/*/*.go
//go:embed refscan/*.go refscan/foreign/*.go internal/engine/*/*/*.go internal/engine/*/*/*/*.go internal/engine/*/*/*.s
//go:embed golden/*.go stackprof/*.go
//go:embed internal/alloccode/*.go internal/alloctrace/*.go internal/envvar/*.go internal/pprofwire/*.go internal/procfs/*.go
//go:embed internal/realtime/*.go internal/symbol/*.go internal/textfmt/*.go internal/verdict/*.go internal/wholefile/*.go internal/winjob/*.go
var Sources embed.FS
