// Package page writes what a run found as one HTML file that needs nothing else: no server, no
// network, no other file. What it shows comes from tests and may have any name. All of it is
// therefore stored as data, which the page's script never turns into markup, and a content security
// policy lets no other script run. A profile can also be a table of functions, as text, or a flame
// graph, as a picture.
package page
