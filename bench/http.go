package main

// httpMeasures are those of jobs over HTTP.
func httpMeasures() []measure { return []measure{httpSend, httpPut} }
