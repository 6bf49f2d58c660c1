// Package shop is a web shop's login: a session for every visitor, kept in memory.
package shop

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Session is what the shop knows of one visitor.
type Session struct {
	User    string
	Cart    []string
	Expires time.Time
}

var (
	lifetime = 24 * time.Hour

	mu       sync.Mutex
	sessions = make(map[string]*Session) // by token
)

// Handler serves the shop.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", login)
	mux.HandleFunc("POST /cart", addToCart)
	mux.HandleFunc("POST /logout", logout)
	return mux
}

func login(w http.ResponseWriter, r *http.Request) {
	token := rand.Text()
	expires := time.Now().Add(lifetime)

	mu.Lock()
	defer mu.Unlock()
	dropExpired()
	sessions[token] = &Session{User: r.FormValue("user"), Expires: expires}
	http.SetCookie(w, &http.Cookie{Name: "session", Value: token, Expires: expires})
}

func addToCart(w http.ResponseWriter, r *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	s := current(r)
	if s == nil {
		http.Error(w, "please log in", http.StatusUnauthorized)
		return
	}
	s.Cart = append(s.Cart, r.FormValue("item"))
	fmt.Fprintf(w, "%d in your cart", len(s.Cart))
}

// logout deletes the cookie and drops the session.
func logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie("session"); err == nil {
		mu.Lock()
		defer mu.Unlock()
		delete(sessions, cookie.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: "session", MaxAge: -1})
}

// dropExpired drops the sessions of visitors who left without a logout. The caller holds mu.
func dropExpired() {
	now := time.Now()
	maps.DeleteFunc(sessions, func(_ string, s *Session) bool { return now.After(s.Expires) })
}

// current returns the session of a request, or nil. The caller holds mu.
func current(r *http.Request) *Session {
	cookie, err := r.Cookie("session")
	if err != nil {
		return nil
	}
	s := sessions[cookie.Value]
	if s == nil || time.Now().After(s.Expires) {
		return nil
	}
	return s
}
