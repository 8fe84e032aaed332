import 'millrace';
