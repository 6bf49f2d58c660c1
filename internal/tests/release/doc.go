// Package release rehearses a release: it serves the modules of the checkout from a module proxy in
// a folder, and checks how they change the modules of users.
package release
