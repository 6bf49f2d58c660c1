// Command subject asks its own handler what it retains, and prints the answer.
package main

import (
	"fmt"
	"net/http/httptest"
	"runtime"

	"github.com/leakgate/leakgate/refscan/refscanhttp"
)

type session struct{ data [1 << 10]byte }

var sessions []*session

func main() {
	for range 1000 {
		sessions = append(sessions, new(session))
	}
	request := httptest.NewRequest("GET", "http://localhost/debug/retained?format=text", nil)
	request.RemoteAddr = "127.0.0.1:1234"
	answer := httptest.NewRecorder()
	new(refscanhttp.Handler).ServeHTTP(answer, request)
	fmt.Println(answer.Code)
	fmt.Print(answer.Body)
	runtime.KeepAlive(sessions)
}
