package shop

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestLogoutDropsTheSession(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()

	for i := range 100 {
		visitor := browser(t)
		post(t, visitor, server.URL+"/login", "user", fmt.Sprintf("user-%d", i))
		post(t, visitor, server.URL+"/cart", "item", "tea")
		post(t, visitor, server.URL+"/logout", "", "")
	}

	leakcheck.AssertRetained(t,
		leakcheck.Root("shop.sessions").MaxObjects(1), // the map itself, nothing in it
		leakcheck.Type[*Session]().None(),
	)
}

// TestRetained compares everything that the shop retains with
// testdata/leakcheck/TestRetained.golden.
func TestRetained(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()

	lifetime = time.Nanosecond // these visitors leave without a logout, and their sessions expire
	for i := range 100 {
		post(t, browser(t), server.URL+"/login", "user", fmt.Sprintf("user-%d", i))
	}

	lifetime = 24 * time.Hour // and one visitor is still logged in
	ada := browser(t)
	post(t, ada, server.URL+"/login", "user", "Ada")
	defer post(t, ada, server.URL+"/logout", "", "")

	leakcheck.AssertRetained(t)
}

func TestNoGrowth(t *testing.T) {
	server := httptest.NewServer(Handler())
	defer server.Close()
	visitor := browser(t)

	leakcheck.AssertNoGrowth(t, func() {
		post(t, visitor, server.URL+"/login", "user", "Ada")
		post(t, visitor, server.URL+"/logout", "", "")
	})
}

func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func post(t *testing.T, visitor *http.Client, page, key, value string) {
	t.Helper()
	resp, err := visitor.PostForm(page, url.Values{key: {value}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", page, resp.Status)
	}
}
