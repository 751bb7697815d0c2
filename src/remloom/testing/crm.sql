-- The tables of a CRM. {text} is a text of any length, {name} one of 200 characters, {code} one of 20
-- that tells capitals from small letters, {time} a date with its time, {json} JSON, {blob} bytes.

CREATE TABLE teams (id INTEGER PRIMARY KEY, name {name} NOT NULL, lead_id INTEGER{lead});

CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  full_name {name} NOT NULL,
  email {name} NOT NULL UNIQUE,
  password_hash {name},
  manager_id INTEGER REFERENCES users (id),
  home_team_id INTEGER REFERENCES teams (id)
);

CREATE TABLE addresses (
  address_id INTEGER PRIMARY KEY,
  street {name},
  city {name},
  country {name}
);

-- codes that differ in case alone, names that are NULL and that several have, two ways to one table
CREATE TABLE accounts (
  account_code {code} PRIMARY KEY,
  account_name {name},
  industry {name} CHECK (industry IN ('energy', 'health', 'retail', 'software')),
  billing_address_id INTEGER REFERENCES addresses (address_id),
  shipping_address_id INTEGER REFERENCES addresses (address_id),
  owner_id INTEGER NOT NULL REFERENCES users (id),
  annual_revenue DECIMAL(14, 2),
  created_at {time} NOT NULL,
  logo {blob}
);

CREATE TABLE contacts (
  id INTEGER PRIMARY KEY,
  first_name {name},
  last_name {name},
  email {name} UNIQUE,
  phone {name},
  birth_date DATE,
  account_code {code} REFERENCES accounts (account_code)
);

CREATE TABLE opportunities (
  id INTEGER PRIMARY KEY,
  deal_name {name} NOT NULL,
  account_code {code} NOT NULL REFERENCES accounts (account_code),
  contact_id INTEGER REFERENCES contacts (id),
  stage {name} NOT NULL CHECK (stage IN ('lead', 'offer', 'won', 'lost')),
  amount DECIMAL(12, 2),
  close_date DATE,
  details {json}
);

CREATE TABLE products (
  sku {code} PRIMARY KEY,
  name {name} NOT NULL,
  price DECIMAL(10, 2) NOT NULL
);

CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  name {name},
  email {name} UNIQUE,
  updated_at {time} NOT NULL
);

CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (customer_id),
  status {name} NOT NULL CHECK (status IN ('open', 'paid', 'shipped')),
  total DECIMAL(10, 2),
  ordered_on DATE
);

-- links that carry something
CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders (id),
  product_sku {code} NOT NULL REFERENCES products (sku),
  quantity INTEGER NOT NULL,
  unit_price DECIMAL(10, 2),
  PRIMARY KEY (order_id, product_sku)
);

-- the customer is not declared, and some are not there
CREATE TABLE support_tickets (
  id INTEGER PRIMARY KEY,
  subject {name} NOT NULL,
  body {text},
  customer_id INTEGER,
  agent_id INTEGER REFERENCES users (id),
  priority {name} CHECK (priority IN ('low', 'normal', 'high')),
  opened_at {time} NOT NULL
);

CREATE TABLE ticket_notes (
  ticket_id INTEGER NOT NULL REFERENCES support_tickets (id),
  line_no INTEGER NOT NULL,
  note {text},
  author_id INTEGER REFERENCES users (id),
  PRIMARY KEY (ticket_id, line_no)
);

-- no key at all, nothing declared, and as many rows as are asked for
CREATE TABLE interactions (
  contact_id INTEGER,
  kind {name},
  happened_at {time},
  seconds DOUBLE PRECISION
);

CREATE INDEX contacts_by_account ON contacts (account_code);
CREATE INDEX customers_by_update ON customers (updated_at);
CREATE INDEX orders_by_customer ON orders (customer_id);
