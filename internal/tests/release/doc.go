// Package release plays a release through: it serves the modules of the checkout from a module
// proxy in a folder, and checks what they do to the modules of users.
package release
