"""Tables of customers, sales, the web shop, marketing, finance and people. A line: path, rows, columns, options (write.py)."""

TABLES = [
    # --- customers
    ("crm/customers.csv", 900, "customer_id:CU#; customer_name:firm; customer_type:pick=installer,housing association,hotel,private; city:city; country:country; since:date=2009,2024; account_owner:EMP@; credit_limit_eur:int=0,90000"),
    ("crm/contacts.csv", 640, "contact_id:seq=10001; customer_id:CU@; first_name:first; last_name:last; role:pick=owner,buyer,technical lead,accounts payable; email:email; phone:phone",
     {"plant": [{"first_name": "Torvald", "last_name": "Grönlund", "role": "technical lead"}]}),
    ("crm/opportunities.csv", 420, "opp_id:pat=OP-99999; customer_id:CU@; stage:pick=lead,qualified,offer,won,lost; expected_value_eur:money=900,80000; close_date:date; lost_reason:maybe=price,delivery time,competitor,project stopped; owner_emp:EMP@"),
    ("crm/activities.jsonl", 380, "activity_id:hex=10; customer_id:CU@; kind:pick=call,mail,visit,demo; at:time; note:text=8"),
    ("crm/installers.csv", 300, "installer_id:IN#; business:firm; certified_until:date=2024,2027; f_gas_certificate:pat=FG-999999; max_kw:int=6,60; rating:float=1,5,1; postcode:pat=99999",
     {"plant": [{"business": "Grönlund Varmeteknik ApS", "f_gas_certificate": "FG-730914"}]}),
    ("crm/complaints.csv", 260, "complaint_no:pat=B-99999; received:date; customer_id:CU@; topic:pick=noise,late delivery,invoice,leak,app,installer; severity:pick=low,medium,high; resolved_on:date; compensation_eur:money=0,600"),
    ("crm/surveys/nps_2023.csv", 350, "respondent:seq; customer_id:CU@; likelihood_to_recommend_0_10:int=0,10; why:text=12; answered:date=2023"),
    ("crm/account_hierarchy.csv", 150, "child_customer:CU@; parent_customer:CU@; relation:pick=subsidiary,franchise,buying group; valid_from:date=2015,2024"),
    ("crm/lost_customers.xlsx", 120, "customer_id:CU@; last_order:date=2021,2023; yearly_revenue_before_eur:money=500,60000; reason:pick=went to competitor,closed business,price,bad service; win_back_attempted:yn",
     {"title": ["Customers lost since 2021", "prepared by sales controlling"]}),
    # --- sales
    ("sales/orders.parquet", 1500, "order_no:SO#; customer_id:CU@; ordered_at:time; sales_channel:pick=installer portal,web shop,phone,field sales; currency:pick=EUR,DKK,PLN; net_total:money=300,24000; promo_code:maybe=SPRING24,WARM10,INSTALL5; status:pick=open,shipped,cancelled"),
    ("sales/order_lines.parquet", 2600, "order_no:SO@; line:int=1,9; product_no:PR@; quantity:int=1,12; unit_price:money=20,7000; discount_pct:float=0,25,1; promised_date:date"),
    ("sales/products.csv", 240, "product_no:PR#; product_name:model; family:pick=air-water,ground-source,air-air,tank,accessory; rated_output_kw:float=3,18,1; scop:float=3.1,5.4,2; sound_power_db:int=38,62; refrigerant:pick=R32,R290,R410A; list_price_eur:money=400,14000; launched:date=2016,2024; end_of_sale:maybe=2024-12-31,2025-06-30"),
    ("sales/quotes.csv", 500, "quote_id:pat=Q24-99999; customer_id:CU@; product_no:PR@; valid_until:date; offered_price:money=900,16000; accepted:yn; promo_code:maybe=SPRING24,WARM10"),
    ("sales/returns.csv", 180, "rma:pat=RMA-999999; order_no:SO@; product_no:PR@; reason:pick=damaged in transit,wrong size,ordered twice,not needed; refunded_eur:money=20,6000; restocked:yn"),
    ("sales/commission.csv", 220, "employee_no:EMP@; month:month; revenue_eur:money=9000,200000; commission_rate:float=0.5,3,2; commission_eur:money=100,5000"),
    ("sales/territories.tsv", 60, "territory:pat=T-999; country:country; representative:EMP@; postcodes_from:pat=99999; postcodes_to:pat=99999"),
    ("sales/discount_rules.json", 40, "rule:seq; customer_type:pick=installer,hotel,housing association; min_quantity:int=1,50; discount_pct:float=1,20,1; approved_by:EMP@"),
    ("sales/forecast_q4.csv", 240, "product_no:PR@; month:pick=2024-10,2024-11,2024-12; forecast_units:int=0,400; last_year_units:int=0,400; planner:person"),
    # --- web shop
    ("webshop/carts_abandoned.csv", 400, "cart_id:hex=16; visitor_id:hex=12; created:time; items:int=1,7; value_eur:money=15,4000; last_page:pick=/checkout/address,/checkout/payment,/cart,/product; promo_code:maybe=WARM10,FILTER15"),
    ("webshop/product_reviews.jsonl", 320, "review_id:hex=8; product_no:PR@; stars:int=1,5; headline:text=4; review:text=16; verified_purchase:bool; written:date"),
    ("webshop/site_search_terms.csv", 200, "term:text=2; searches:int=1,900; no_result_pct:float=0,80,1; clicks:int=0,700; week:int=1,52"),
    ("webshop/newsletter_subscribers.csv", 380, "subscriber:hex=10; opted_in_at:time; confirmed:bool; language:pick=da,de,fr,es,pl; source:pick=checkout,footer,fair; unsubscribed_at:maybe=2024-03-02,2024-05-19"),
    ("webshop/payment_attempts.csv", 420, "payment_ref:pat=PX999999999; order_no:SO@; method:pick=card,invoice,paypal,mobilepay; outcome:pick=captured,declined,expired,refunded; psp_code:pick=00,05,51,54; amount:money=10,6000",
     {"plant": [{"payment_ref": "PX200418837", "outcome": "declined"}]}),
    ("webshop/gift_cards.csv", 90, "card_code:pat=GC-AAAA-9999; issued:date; balance_eur:money=0,300; redeemed_order:SO@"),
    # --- marketing
    ("marketing/promo_codes.csv", 60, "code:pat=AAAAA99; campaign:CP@; discount:pat=9%; starts:date=2024; ends:date=2024; max_uses:int=50,5000; used:int=0,4000",
     {"plant": [{"code": "WARM10"}, {"code": "SPRING24"}, {"code": "INSTALL5"}, {"code": "HYGGE77"}]}),
    ("marketing/campaigns.csv", 60, "campaign_id:CP#; campaign_name:text=3; channel:pick=search,social,print,radio,fair; start:date; end:date; budget_eur:money=500,90000; responsible:EMP@"),
    ("marketing/ad_spend_daily.csv", 540, "day:date=2024; campaign_id:CP@; platform:pick=Google,Meta,LinkedIn; impressions:int=900,90000; clicks:int=5,3000; cost_eur:money=4,900; conversions:int=0,40; promo_code:maybe=WARM10,HYGGE77"),
    ("marketing/trade_fairs.csv", 40, "fair:pick=ISH Frankfurt,MCE Milano,Building Green,Interclima,Climatización Madrid; year:year=2018,2024; stand_sqm:int=20,200; visitors_scanned:int=80,2500; leads:int=10,600; total_cost_eur:money=9000,190000"),
    ("marketing/social_posts.jsonl", 240, "post:hex=9; network:pick=instagram,linkedin,facebook; posted_at:time; text:text=14; likes:int=0,4000; shares:int=0,300"),
    ("marketing/email_sends.csv", 360, "send_id:hex=12; campaign_id:CP@; subject:text=5; delivered:int=200,9000; opened:int=50,5000; bounced:int=0,300; unsubscribes:int=0,90; promo_code:maybe=HYGGE77,FILTER15"),
    ("marketing/brand_awareness_survey.csv", 90, "country:country; wave:pick=2022H1,2022H2,2023H1,2023H2; aided_pct:float=5,60,1; unaided_pct:float=1,25,1; considered_pct:float=1,30,1"),
    ("marketing/influencers.csv", 45, "handle:pat=aAAAA_home; followers:int=900,400000; fee_eur:money=100,9000; promo_code:pick=HYGGE77,WARM10,COZY5; contact:person"),
    # --- finance
    ("finance/cost_centers.csv", 60, "cost_center:CC#; description:pick=Assembly,Paint shop,R&D lab,Sales DACH,IT operations,Canteen,Logistics,Works council; responsible:EMP@; plant:pick=Aarhus,Bremen"),
    ("finance/invoices.csv", 900, "invoice_no:INV#; order_no:SO@; customer_id:CU@; issued:date; due:date; gross_amount:money=50,26000; vat_rate:pick=25,19,20,21,23; paid:yn",
     {"plant": [{"invoice_no": "RE-2023-77120"}]}),
    ("finance/incoming_payments.csv", 800, "value_date:date; invoice_no:INV@; amount_eur:money=50,26000; payer:firm; bank_ref:pat=99999999999999"),
    ("finance/receivables_aging.csv", 200, "customer_id:CU@; not_due:money=0,9000; overdue_1_30:money=0,4000; overdue_31_60:money=0,3000; overdue_61_90:money=0,2000; older:money=0,1500",
     {"title": ["Open items by age", "as of 30.06.2024, all amounts in EUR"], "foot": ["Total;;;;;"]}),
    ("finance/dunning_letters.csv", 150, "letter:pat=DL99999; customer_id:CU@; level:int=1,3; sent:date; fee_eur:pick=0,5,15,40; lawyer_involved:yn"),
    ("finance/exchange_rates.csv", 500, "rate_date:date; currency:pick=DKK,PLN,SEK,NOK,GBP,JPY,USD; units_per_euro:float=0.8,160,4"),
    ("finance/fixed_assets.csv", 320, "asset_no:AS#; description:pick=press,conveyor,forklift,test chamber,server,van,roof solar; acquired:date=2005,2024; cost_eur:money=900,480000; useful_life_years:int=3,25; book_value_eur:money=0,300000; cost_center:CC@"),
    ("finance/travel_expenses.csv", 340, "claim:pat=TE-99999; employee_no:EMP@; trip_from:date; trip_to:date; destination:city; hotel_eur:money=0,900; kilometres:int=0,1400; per_diem_eur:money=0,300; approved:yn"),
    ("finance/leasing_contracts.csv", 70, "contract:CT@; object:pick=van,forklift,copier,laptop,office floor; lessor:firm; monthly_rate_eur:money=40,9000; runs_until:date=2024,2029; cost_center:CC@"),
    ("finance/bank_statement_2024.csv", 260, "a:gdate=2024; b:gdate=2024; c:pat=DE99 9999 9999; d:german=-9000,9000; e:text=4", {"header": False, "delimiter": ";"}),
    ("finance/intercompany_balances.csv", 60, "from_entity:pick=NH-DK,NH-DE,NH-FR,NH-ES,NH-PL,NH-JP; to_entity:pick=NH-DK,NH-DE,NH-FR,NH-ES,NH-PL,NH-JP; period:month; balance_eur:money=-90000,90000; reconciled:yn"),
    ("finance/insurance_policies.csv", 35, "policy:pat=POL-AA-99999; insurer:firm; risk:pick=fire,transport,liability,cyber,vehicles; sum_insured_eur:int=100000,9000000; premium_eur:money=400,90000; renewal:date=2024,2025"),
    # --- people
    ("hr/employees.csv", 420, "employee_no:EMP#; first_name:first; last_name:last; department:pick=Assembly,Sales,Service,R&D,IT,Finance,Logistics,Quality; site:pick=Aarhus,Bremen,Lyon,Sevilla,Gdańsk,Sendai; hired:date=1998,2024; weekly_hours:pick=20,30,37,40; manager_no:EMP@",
     {"plant": [{"first_name": "Solveig", "last_name": "Raunkjær"}]}),
    ("hr/absences.csv", 700, "employee_no:EMP@; from_day:date; to_day:date; type:pick=holiday,sick,parental leave,training,unpaid; certificate_received:yn"),
    ("hr/applicants.csv", 260, "application:pat=APP-99999; position:pick=refrigeration engineer,welder,buyer,data analyst,service technician; applied:date; source:pick=referral,job board,fair,agency; stage:pick=screening,interview,offer,rejected,hired; desired_salary_eur:int=28000,98000"),
    ("hr/training/sessions.csv", 150, "session_id:pat=TR-9999; course:pick=F-gas handling,forklift licence,first aid,excel for controllers,welding,fire drill; held_on:date; trainer:person; location:city; seats:int=6,24",
     {"plant": [{"trainer": "Bartholomew Quist", "course": "F-gas handling"}]}),
    ("hr/training/attendance.csv", 600, "session_id:pat=TR-9999; employee_no:EMP@; attended:yn; score_pct:int=30,100"),
    ("hr/exit_interviews.csv", 60, "employee_no:EMP@; left_on:date; main_reason:pick=pay,manager,relocation,retirement,career; would_return:yn; comment:text=14"),
    ("hr/org_units.json", 45, "unit:pat=OU-99; name:pick=Assembly line 1,Assembly line 2,Inside sales,Field service north,Lab,Toolroom; parent:pat=OU-99; head:EMP@"),
    ("hr/working_time_accounts.csv", 420, "employee_no:EMP#; flexitime_balance_h:float=-40,80,1; holiday_left_days:float=0,32,1; carried_over_days:float=0,10,1"),
    ("hr/occupational_accidents.csv", 55, "accident_no:pat=AC-999; happened:time; area:pick=press shop,warehouse,paint line,yard,lab; body_part:pick=hand,back,eye,foot; lost_days:int=0,60; reported_to_authority:yn"),
    ("hr/salary_bands.csv", 30, "band:each=A1,A2,A3,B1,B2,B3,C1,C2,C3,D1; country:country; minimum_eur:int=24000,60000; midpoint_eur:int=40000,90000; maximum_eur:int=60000,140000"),
]

# One settlement a partner: every one has the column promo_code, no two the same columns.
PARTNERS = """heizungsmarkt24 varmelager chaufferia klimaprofi nordisk-vvs clima-directo grzejnik hus-og-hjem thermoshop billigwarm
komfortblick ecocasa pompa-ciepla boligliv energiesparer maison-verte tutti-clima vvs-eksperten bauherr tiendaclima""".split()
PARTNER_COLUMNS = ["orders:int=0,300", "clicks:int=0,9000", "commission_eur:money=5,4000", "revenue_eur:money=100,60000", "paid_on:date", "returns:int=0,30"]
