// Command server does what its clients ask for, at a socket, and tells at an address what it
// retains, if one is given.
package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"

	"github.com/leakgate/leakgate/refscan/refscanhttp"
)

type session struct{ text string }

var (
	sessions []*session
	never    chan int
)

func main() {
	if len(os.Args) < 2 {
		fmt.Println("server needs a socket")
		os.Exit(2)
	}
	if len(os.Args) > 2 {
		http.Handle("/debug/retained", new(refscanhttp.Handler))
		go func() { fmt.Println(http.ListenAndServe(os.Args[2], nil)) }()
	}
	_ = os.Remove(os.Args[1])
	l, err := net.Listen("unix", os.Args[1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		for lines := bufio.NewScanner(c); lines.Scan(); {
			switch text := lines.Text(); text {
			case "leak":
				sessions = append(sessions, &session{text})
			case "goroutine":
				go func() { <-never }()
			case "end":
				os.Exit(0)
			}
			_, _ = c.Write([]byte("ok\n"))
		}
		_ = c.Close()
	}
}
