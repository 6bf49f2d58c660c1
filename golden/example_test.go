package golden_test

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/golden"
)

const text = `leakgate golden v1
# One session per connected user.
    <=100             *  example.com/app.sessions[*]                       *example.com/app.Session
        1          4096  example.com/app.srv.buf                           []uint8
`

func Example() {
	f, err := golden.Parse("TestLogout.golden", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	measured := []golden.Measurement{
		{Path: "example.com/app.sessions[*]", Type: "*example.com/app.Session", Objects: 120, Bytes: 11520},
		{Path: "example.com/app.srv.buf", Type: "[]uint8", Objects: 1, Bytes: 4096},
	}
	for _, d := range f.Compare(measured) {
		if d.Failure() {
			fmt.Printf("%s:%d: %s\n", f.Name(), d.Entry.Line, d)
		}
	}
	updated, changes := f.Update(measured)
	fmt.Println(changes[0])
	fmt.Print(golden.Diff(string(f.Bytes()), string(updated.Bytes())))
	// Output:
	// TestLogout.golden:3: example.com/app.sessions[*] *example.com/app.Session: 120 objects, golden <=100 (+20)
	// widened    example.com/app.sessions[*] *example.com/app.Session: objects <=100 -> <=120
	// @@ -1,4 +1,4 @@
	//  leakgate golden v1
	//  # One session per connected user.
	// -    <=100             *  example.com/app.sessions[*]                       *example.com/app.Session
	// +    <=120             *  example.com/app.sessions[*]                       *example.com/app.Session
	//          1          4096  example.com/app.srv.buf                           []uint8
}

func ExampleNew() {
	f := golden.New([]golden.Measurement{
		{Path: "example.com/app.srv", Type: "*example.com/app.Server", Objects: 1, Bytes: 48},
		{Path: "example.com/app.index", Type: "map[string]int", Objects: 1, Bytes: 4096, BytesTolerance: 10},
	})
	fmt.Print(string(f.Bytes()))
	// Output:
	// leakgate golden v1
	// # objects         bytes  path                                              type
	//
	//         1      4096~10%  example.com/app.index                             map[string]int
	//         1            48  example.com/app.srv                               *example.com/app.Server
}

func ExampleParse_syntaxError() {
	_, err := golden.Parse("app.golden", []byte("leakgate golden v1\n\n1 abc example.com/app.srv *\n"))
	fmt.Println(err)
	var syntax *golden.SyntaxError
	fmt.Println(errors.As(err, &syntax), syntax.Line, syntax.Column)
	// Output:
	// app.golden:3:3: expected a bound on bytes (a number, <=N, N~P% or *), found "abc"
	// true 3 3
}

func ExampleFileName() {
	for _, test := range []string{"TestLogout", "TestLogout/two_users#01", `TestLogout/a b: "c"`} {
		name, err := golden.FileName(test)
		fmt.Println(name, err)
	}
	// Output:
	// TestLogout.golden <nil>
	// TestLogout/two_users#01.golden <nil>
	// TestLogout/a_b%3A_%22c%22.golden <nil>
}
