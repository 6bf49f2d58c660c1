// Package page writes what a run found as one HTML file that needs nothing else: no server, no
// network, no other file. What it shows comes from tests and may have any name, so all of it is
// data, which the page's script never makes markup of, and a content security policy lets no other
// script run.
package page
