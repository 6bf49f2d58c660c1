package visits

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gorilla/sessions"
	"github.com/leakgate/leakgate/leakcheck"
)

func TestRequestsAreDropped(t *testing.T) {
	visit(t, 100)

	leakcheck.AssertRetained(t,
		leakcheck.Type[*http.Request]().None(),
		leakcheck.Type[*sessions.Session]().None(),
	)
}

// TestRetained compares what this package and gorilla's packages retain with
// testdata/leakcheck/TestRetained.golden.
func TestRetained(t *testing.T) {
	visit(t, 100)

	leakcheck.AssertRetained(t, leakcheck.Scope("example.com/visits", "github.com/gorilla/*"))
}

func TestNoGrowth(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { visit(t, 1) })
}

// visit requests the counter n times, as one visitor who sends back the cookie.
func visit(t *testing.T, n int) {
	t.Helper()
	handler := Handler()
	var cookies []*http.Cookie
	for i := 1; i <= n; i++ {
		r := httptest.NewRequest("GET", "/", nil)
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got, want := w.Body.String(), fmt.Sprintf("visit %d", i); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		cookies = w.Result().Cookies()
	}
}
