// Package visits counts a visitor's visits in a cookie, with github.com/gorilla/sessions.
package visits

import (
	"fmt"
	"net/http"

	"github.com/gorilla/sessions"
)

var store = sessions.NewCookieStore([]byte("an example's key, 32 bytes long!"))

// Handler serves the counter.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", count)
	return mux
}

func count(w http.ResponseWriter, r *http.Request) {
	session, err := store.Get(r, "visits")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, _ := session.Values["n"].(int)
	session.Values["n"] = n + 1
	if err := session.Save(r, w); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "visit %d", n+1)
}
