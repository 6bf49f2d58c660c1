// Package examples checks the examples below it: small programs that leak, and their fixed twins.
//
// Each example is a folder with two modules, leaky and fixed, so that the two can require different
// versions of a library, and so that a wildcard such as ./... reaches neither from here. Their
// tests and golden files are the same, byte for byte. In a leaky folder plain "go test" fails, and
// says why: that is the demonstration. The tests of this package expect that failure, its root and
// its path, and expect every fixed twin to pass:
//
//	go test .                         # each once
//	go test . -timeout 1h -repeat 20  # fixed twins and goldens 20 times in each mode
//	go test . -run /wazero            # one example
//	go test . -run Goldens -update    # golden files, where they should change
//
//	go test . -run Goldens -all-modes -timeout 1h # also other Go versions, builds, machines
//
// The tests run the go command, whose toolchain is chosen as usual (GOTOOLCHAIN), and need linux.
package examples
